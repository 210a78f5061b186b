#!/bin/sh
# Written by mayi install cline. It asks mayi about every tool call of Cline; mayi uninstall cline removes it.
set -- @COMMAND@
if command -v "$1" >/dev/null 2>&1; then
    exec "$@"
fi
# Without mayi nothing is decided, so nothing may run.
printf '%s\n' '{"cancel": true, "errorMessage": "mayi is no longer where it was: install it again, or run mayi uninstall cline"}'
