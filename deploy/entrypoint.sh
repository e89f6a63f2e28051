#!/bin/sh
# Runs `muniment`. URLs hold passwords, so they come as files (MUNIMENT_DATABASE_URL_FILE, MUNIMENT_REDIS_URL_FILE): the
# variables of a container are shown to everybody who may inspect it.
set -eu
for name in MUNIMENT_DATABASE_URL MUNIMENT_REDIS_URL; do
    eval "file=\${${name}_FILE:-}"
    if [ -n "$file" ]; then
        value=$(cat "$file")
        export "$name=$value"
        unset "${name}_FILE"
    fi
done
exec muniment "$@"
