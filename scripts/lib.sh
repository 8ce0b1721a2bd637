# Sourced by the scripts beside it, with $root set to the checkout.
#
#   ready run|dev|client|semantic    makes $venv hold exactly what scripts/locks/<which>.txt says, and sets $python
#
# The everyday case costs one `cmp`; everything else is done by scripts/setup.py.

venv=${MEMSTORE_VENV:-.venv}
case $venv in
    /*) ;;
    *) venv=$root/$venv ;;
esac
python=$venv/bin/python

ready() {
    if [ -x "$python" ] && cmp -s "$root/scripts/locks/$1.txt" "$venv/memstore-$1.txt"; then
        return 0
    fi
    base=$(base_python) || exit 1
    "$base" -I "$root/scripts/setup.py" "$1" "$venv" || exit 1
}

# The first Python that is new enough and can make virtual environments. A name may be there and not work
# (version managers leave such stubs), so each one is asked.
base_python() {
    found=
    if [ -n "${MEMSTORE_PYTHON:-}" ]; then
        set -- "$MEMSTORE_PYTHON"
    else
        set -- python3.13 python3.12 python3.11 python3 python3.14
    fi
    for name in "$@"; do
        command -v "$name" >/dev/null 2>&1 || continue
        "$name" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue
        found=$name
        "$name" -I -c 'import venv, ensurepip' >/dev/null 2>&1 || continue
        echo "$name"
        return 0
    done
    if [ -n "$found" ]; then
        echo "memstore: $found has no venv module, which the set-up needs; on Debian and Ubuntu install" \
            "python3-venv, elsewhere a complete Python" >&2
    else
        echo "memstore: needs Python 3.11 or newer and found none on PATH; install one from your system's" \
            "packages or python.org, or name it: MEMSTORE_PYTHON=/path/to/python3" >&2
    fi
    return 1
}

# The checkout is the program: nothing of it is installed. The safe path keeps a folder that somebody happens
# to stand in (it may be hostile) from supplying modules.
run_python() {
    export PYTHONPATH="$root" PYTHONSAFEPATH=1
    exec "$python" "$@"
}
