#!/bin/sh
# Run once by the image of PostgreSQL, on an empty volume: the role of the programs, which owns nothing. What it may do,
# each `migrate` gives it. On a database that is there already, make it by hand: docs/record.md, "Two roles".
set -eu
psql --set ON_ERROR_STOP=1 --set password="$APP_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE reviewhub_app LOGIN PASSWORD :'password';
SQL
