# What the unit of docs/deploy asks systemd for, with what a test has: a user without rights, no capabilities, no new
# privileges, a file system that cannot be written to, and a temporary directory of its own. Wants a mount namespace.
set -euo pipefail
mount --make-rprivate /
prefix=$(dirname "$(dirname "$(readlink -f "$PYTHON")")")
if [[ $prefix == /root/* ]]; then
  # An interpreter in root's home is moved out of it, so to speak.
  mount -t tmpfs -o mode=755 none /mnt
  mkdir /mnt/prefix
  mount --bind "$prefix" /mnt/prefix
  mount -t tmpfs -o mode=755 none /root
  mkdir -p "$prefix"
  mount --bind /mnt/prefix "$prefix"
fi
mount -t tmpfs -o mode=1777 none /tmp
mount -o remount,bind,ro /
exec setpriv --reuid=64999 --regid=64999 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"
