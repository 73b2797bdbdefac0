import { type EvictionSignal, thresholdQuantity } from '../../../api/values/eviction-thresholds.ts';
import { quantityValue } from '../../../api/values/quantity.ts';
import { shellWord } from '../../../text/shell-word.ts';
import type { DiskFacts, Facts, MemoryFacts, Settings } from './facts.ts';
import { ok, onFact, problem, type Verdict, warning } from './finding.ts';

/** Below this multiple of its threshold, a resource is reported as nearly exhausted. */
const nearFactor = 2n;

export function checkDisks({ disks, settings }: Facts): Verdict[] {
  return disks.flatMap((disk) => onFact(disk, (facts) => judgeDisk(facts, settings)));
}

function judgeDisk(disk: DiskFacts, settings: Settings): Verdict[] {
  const { use, path, freeBytes, sizeBytes, freeInodes, inodes, readOnlyMount } = disk;
  if (readOnlyMount !== undefined) {
    const fix = `dmesg | grep -iE "error|remount"; mount -o remount,rw ${shellWord(readOnlyMount)}`;
    return [problem(`${use} ${path} is on a disk that is read-only: no container can start or stop`, fix)];
  }
  const name = use === 'images' ? 'imagefs' : 'nodefs';
  const fix = `du -xh -d2 ${path} | sort -h | tail -20`;
  const amounts = [
    { signal: `${name}.available` as const, free: freeBytes, size: sizeBytes, shown: bytesText(freeBytes), fix },
    {
      signal: `${name}.inodesFree` as const,
      free: freeInodes,
      size: inodes,
      shown: `${freeInodes.toString()} inodes`,
      fix: `du -x --inodes -d2 ${path} | sort -n | tail -20`,
    },
  ];
  const low = amounts.flatMap(({ shown, ...amount }) =>
    amount.size === 0n ? [] : judgeAmount({ ...amount, what: `${use} ${path} has ${shown} left` }, settings),
  );
  const room =
    low.length > 0 ? low : [ok(`${use} ${path} has ${bytesText(freeBytes)} of ${bytesText(sizeBytes)} left`)];
  return [...room, ...judgeNoexec(disk, settings)];
}

/** Containers on an overlayfs do not inherit noexec; plain folders, such as those of volumes, do. */
function judgeNoexec({ use, path, noexecMount }: DiskFacts, { snapshotter }: Settings): Verdict[] {
  if (use === 'logs' || noexecMount === undefined) return [];
  const evidence = `${use} ${path} is on a disk that is mounted noexec`;
  const fix = `mount -o remount,exec ${shellWord(noexecMount)}, and remove noexec from /etc/fstab`;
  if (use === 'images') {
    return snapshotter === 'native' ? [problem(`${evidence}: no container can start`, fix)] : [];
  }
  return [warning(`${evidence}: pods cannot execute programs in their volumes, such as emptyDir`, fix)];
}

interface Amount {
  signal: EvictionSignal;
  free: bigint;
  size: bigint;
  /** The free amount with its path, for the evidence. */
  what: string;
  fix: string;
}

/** Returns [] if there is enough. */
function judgeAmount({ signal, free, size, what, fix }: Amount, { thresholds }: Settings): Verdict[] {
  const capacity = { nanos: size * 1_000_000_000n, format: 'BinarySI' as const };
  const limits = thresholds
    .filter((threshold) => threshold.signal === signal)
    .map(({ value }) => quantityValue(thresholdQuantity(value, capacity)));
  const limit = limits.reduce((most, one) => (one > most ? one : most), 0n);
  const shown = signal.endsWith('inodesFree') ? limit.toString() : bytesText(limit);
  if (free < limit) return [problem(`${what}: below ${shown} pods are evicted (${signal})`, fix)];
  if (free < limit * nearFactor) return [warning(`${what}: near the eviction of pods at ${shown} (${signal})`, fix)];
  return [];
}

export function checkMemory({ memory, settings }: Facts): Verdict[] {
  return onFact(memory, ({ availableBytes, totalBytes }) => {
    const what = `${bytesText(availableBytes)} of ${bytesText(totalBytes)} is available`;
    const fix = 'kubelet-ts top --sort-by memory; ps -eo rss,pid,comm --sort -rss | head';
    const low = judgeAmount(
      { signal: 'memory.available', free: availableBytes, size: totalBytes, what, fix },
      settings,
    );
    return low.length > 0 ? low : [ok(what)];
  });
}

export function checkSwap({ memory, settings }: Facts): Verdict[] {
  return onFact(memory, (facts) => judgeSwap(facts, settings));
}

function judgeSwap({ swaps, hasSwapController }: MemoryFacts, { refusesSwap }: Settings): Verdict[] {
  if (swaps.length === 0) return [ok('is off')];
  const names = swaps.map(({ name }) => name).join(', ');
  const fix = `swapoff ${swaps.map(({ name }) => name).join(' ')}`;
  if (refusesSwap) return [problem(`${names} is on and failSwapOn is set: run refuses to start`, fix)];
  if (!hasSwapController) return [warning(`${names} is on, and the kernel cannot prevent pods from using it`, fix)];
  return [ok(`${names} is on and limited by cgroups`)];
}

/** A number of bytes in a suitable unit, such as `3.2 GiB`. */
function bytesText(bytes: bigint): string {
  const mebibytes = Number(bytes) / 1024 ** 2;
  return mebibytes < 1024 ? `${mebibytes.toFixed(0)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`;
}
