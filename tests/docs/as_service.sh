# What the unit of docs/deploy asks systemd for, with what a test has: a user without rights, no capabilities, no new
# privileges, a file system that cannot be written to, a temporary directory of its own, and nobody's home. Wants a mount
# namespace; $PYTHON and $REPOSITORY stay where they are, wherever that is.
set -euo pipefail
mount --make-rprivate /
kept=("$(dirname "$(dirname "$(readlink -f "$PYTHON")")")" "$(readlink -f "$REPOSITORY")")
mount -t tmpfs -o mode=755 none /mnt
for index in "${!kept[@]}"; do
  mkdir "/mnt/$index"
  mount --bind "${kept[index]}" "/mnt/$index"
done
mount -t tmpfs -o mode=1777 none /tmp
mount -t tmpfs -o mode=755 none /root
mount -t tmpfs -o mode=755 none /home
for index in "${!kept[@]}"; do
  case ${kept[index]} in
    /tmp/* | /root/* | /home/*)
      mkdir -p "${kept[index]}"
      mount --bind "/mnt/$index" "${kept[index]}"
      ;;
  esac
done
mount -o remount,bind,ro /
exec setpriv --reuid=64999 --regid=64999 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"
