#!/bin/sh
# Any program can be a worker that does no more than heed SIGTERM: it saves, and ends with a status
# that is not 0, for with 0 the job would count as complete. Kubernetes sends the signal to the first
# process of the container, so a shell that starts a program must hand it on, or be replaced by it
# with exec.
#
#     sigterm.sh 1000 /checkpoints
set -eu

steps=$1
folder=${2:-${PLIMSOLL_CHECKPOINT_LOCATION:-checkpoints}}
mkdir -p "$folder"
done=$(cat "$folder/last" 2>/dev/null || echo 0)

save() {
	echo "$done" >"$folder/last.part"
	mv "$folder/last.part" "$folder/last"
	echo "saved at step $done"
}

stop() {
	save
	exit 143
}
trap stop TERM

while [ "$done" -lt "$steps" ]; do
	sleep 0.1 & # the work of a step
	wait $! || true
	done=$((done + 1))
done
save
