#!/bin/sh
# The image's programs: web, worker, beat, migrate, or any manage.py command. `exec`, so that SIGTERM reaches the program
# itself: web drains its requests, a worker ends its tasks.
set -eu
case "${1:-web}" in
    web) exec python manage.py serve --host 0.0.0.0 --port "${PORT:-8000}" ;;
    worker)
        exec celery --app reviewhub.celery worker --pool threads --concurrency "${WORKER_THREADS:-4}" \
            --without-gossip --without-mingle --without-heartbeat --loglevel INFO
        ;;
    beat) exec celery --app reviewhub.celery beat --loglevel INFO --pidfile= ;;
    migrate) exec python manage.py migrate --noinput ;;
    *) exec python manage.py "$@" ;;
esac
