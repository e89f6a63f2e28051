#!/bin/sh
# The roles and the database, when the server's volume is empty. The owner migrates; the gateways' role owns nothing, and
# row-level security binds it.
set -eu
secrets=${SECRETS:-/run/secrets}
psql -X -q -v ON_ERROR_STOP=1 -U "${POSTGRES_USER:-postgres}" -d postgres \
    -v owner_password="$(cat "$secrets/owner_password")" -v app_password="$(cat "$secrets/app_password")" <<'SQL'
CREATE ROLE muniment_app NOLOGIN;
CREATE ROLE muniment_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE muniment_gateway LOGIN PASSWORD :'app_password' IN ROLE muniment_app;
CREATE DATABASE muniment OWNER muniment_owner TEMPLATE template0 ENCODING 'UTF8';
REVOKE CONNECT, TEMPORARY ON DATABASE muniment FROM PUBLIC;
GRANT CONNECT ON DATABASE muniment TO muniment_gateway;
\connect muniment
CREATE EXTENSION vector;
SQL
