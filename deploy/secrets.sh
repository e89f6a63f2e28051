#!/bin/sh
# Makes deploy/secrets/ (passwords, URLs, the master key) and deploy/.env (who the containers run as). Run it once;
# it never overwrites. Keep a copy of secrets/master.key apart from the database's backups: without it they are worth nothing.
set -eu
umask 077
cd "${1:-$(dirname "$0")}"
[ ! -e secrets ] || { echo "secrets/ is there already; nothing was changed" >&2; exit 1; }

random() { head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }

mkdir secrets
for name in superuser_password owner_password app_password redis_password; do
    random 24 >"secrets/$name"
done
# Without TLS: the network of the compose file never leaves this machine. Elsewhere leave `sslmode` out, and it is verified.
printf 'postgresql://muniment_owner:%s@postgres/muniment?sslmode=disable' "$(cat secrets/owner_password)" >secrets/owner_url
printf 'postgresql://muniment_gateway:%s@postgres/muniment?sslmode=disable' "$(cat secrets/app_password)" >secrets/database_url
printf 'redis://:%s@redis/0' "$(cat secrets/redis_password)" >secrets/redis_url
# One key a line, as `muniment keys create` writes it.
printf 'mk-%s %s\n' "$(random 8)" "$(head -c 32 /dev/urandom | base64)" >secrets/master.key

# The containers run as whoever owns the secrets, and not as root. Postgres runs as its own user and reads three passwords:
# the folder keeps others on this machine away from them.
uid=$(id -u) gid=$(id -g)
if [ "$uid" = 0 ]; then
    uid=10001 gid=10001
    chown -R "$uid:$gid" secrets
fi
chmod 0444 secrets/superuser_password secrets/owner_password secrets/app_password
chmod 0400 secrets/owner_url secrets/database_url secrets/redis_url secrets/redis_password secrets/master.key
printf 'MUNIMENT_UID=%s\nMUNIMENT_GID=%s\n' "$uid" "$gid" >.env
chmod 0644 .env
echo "made secrets/ and .env; now keep a copy of secrets/master.key somewhere else"
