import { access } from 'node:fs/promises';
import type { Pod } from '../../api/types.ts';
import { nextOpening, updateLock } from '../../api/values/update-annotations.ts';
import { computeUpdateGates, type UpdateGates } from '../../engine/operations/compute-revision.ts';

/** Checks the lock files of these pods. A closed window has the time when it opens next. */
export async function readUpdateGates(pods: readonly Pod[], now: Date): Promise<(pod: Pod) => UpdateGates> {
  const locks = new Set<string>();
  const check = async (path: string): Promise<void> => {
    await access(path).then(
      () => locks.add(path),
      () => undefined,
    );
  };
  await Promise.all(pods.map(updateLock).flatMap((path) => (path === undefined ? [] : [check(path)])));
  return (pod) => {
    const { lock, closedWindow } = computeUpdateGates(pod, now, (path) => locks.has(path));
    const opening = closedWindow === undefined ? undefined : nextOpening(closedWindow, now);
    return { lock, closedWindow: opening === undefined ? undefined : `${closedWindow}, until ${localTime(opening)}` };
  };
}

function localTime(time: Date): string {
  const two = (part: number): string => String(part).padStart(2, '0');
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-');
  return `${date} ${two(time.getHours())}:${two(time.getMinutes())}`;
}
