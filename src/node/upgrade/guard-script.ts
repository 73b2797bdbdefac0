import { serviceMark } from '../../process/service-mark.ts';

/**
 * The script that a service runs before each start of a program that can be upgraded. It depends on nothing that an
 * upgrade replaces. Each step is a rename, so that a power cut leaves a state from which the next start continues.
 */
export const guardScript = `#!/bin/sh
${serviceMark}
# Restores the previous program if an upgrade did not become healthy in three starts. A healthy agent removes the mark.
# Usage: kubelet-ts.guard PROGRAM [COMMAND...]: then runs the command
program=$1
shift
for left in 3 2 1; do
  if [ -f "$program.pending-$left" ]; then
    mv -f "$program.pending-$left" "$program.pending-$((left - 1))" && sync "\${program%/*}"
    [ $# -eq 0 ] || exec "$@"
    exit
  fi
done
if [ -f "$program.pending-0" ]; then
  # After a power cut here or in the upgrade, the previous program may have its name already.
  { [ ! -f "$program.previous" ] || [ "$program.previous" -ef "$program" ] || mv -f "$program.previous" "$program"; } &&
    mv -f "$program.pending-0" "$program.restored" &&
    sync "\${program%/*}"
  echo "the upgrade of $program did not become healthy in three starts: restored the previous program" >&2
fi
[ $# -eq 0 ] || exec "$@"
`;
