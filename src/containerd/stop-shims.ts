import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import {
  identify,
  isRunning,
  listPIDs,
  type ProcessIdentity,
  readStat,
  signalProcess,
} from '../process/process-identity.ts';
import { type ContainerdShim, findShims } from './containerd-shims.ts';
import { bundles, endShim } from './end-shim.ts';
import type { ManagedPaths } from './managed-paths.ts';

/** Which pods to stop without containerd. */
export interface PodsToStop {
  /** Grace periods in milliseconds by UID. */
  readonly gracePeriodsMs: ReadonlyMap<string, number>;
  /** The grace period of all other pods of this containerd. They are left alone if it is undefined. */
  readonly othersGracePeriodMs?: number;
}

interface StopShimsDeps {
  readonly paths: Pick<ManagedPaths, 'socket' | 'state' | 'root'>;
  readonly clock: Clock;
}

/** Milliseconds between checks of processes that are not our children, because nothing reports their exit. */
const exitPollMs = 50;

/**
 * Stops the containers of pods without their containerd, which may not start, or may not be able to write. Needs no
 * store and no writable disk, because the kernel knows the processes. Resolves to the UIDs of the pods that it knew and
 * stopped. Rejects if a shim does not exit.
 */
export async function stopShims(pods: PodsToStop, deps: StopShimsDeps): Promise<string[]> {
  const shims = await findShims(deps.paths.socket);
  const uids = await Promise.all(shims.map((shim) => stopShim(shim, pods, deps)));
  return [...new Set(uids.filter((uid) => uid !== undefined))];
}

async function stopShim(
  shim: ContainerdShim,
  { gracePeriodsMs, othersGracePeriodMs }: PodsToStop,
  { paths, clock }: StopShimsDeps,
): Promise<string | undefined> {
  const children = await childrenOf(shim.process);
  const uid = podUIDIn(await cgroupsOf(children[0] ?? shim.process), [...gracePeriodsMs.keys()]);
  const graceMs = uid === undefined ? othersGracePeriodMs : gracePeriodsMs.get(uid);
  if (graceMs === undefined) return undefined;
  // The process that holds the namespaces of the pod exits last. Without its file, it stops with the others.
  const sandbox = Number(await readFile(join(paths.state, bundles, shim.id, 'init.pid'), 'utf8').catch(() => ''));
  const containers = children.filter(({ pid }) => pid !== sandbox);
  for (const process of containers) await signalProcess(process, 'SIGTERM');
  const deadline = clock.monotonic() + graceMs;
  while (clock.monotonic() < deadline && (await Promise.all(containers.map(isRunning))).some(Boolean))
    await clock.sleep(exitPollMs);
  await endShim(shim, paths).catch(async (error: unknown) => {
    // Its files remain on a read-only disk.
    if (await isRunning(shim.process)) throw error;
  });
  return uid;
}

async function childrenOf({ pid }: ProcessIdentity): Promise<ProcessIdentity[]> {
  const children = (await listPIDs()).map(async (child) =>
    (await readStat(child))?.parent === pid ? identify(child) : undefined,
  );
  return (await Promise.all(children)).filter((child) => child !== undefined);
}

const cgroupsOf = ({ pid }: ProcessIdentity): Promise<string> =>
  readFile(`/proc/${String(pid)}/cgroup`, 'utf8').catch(() => '');

/** Returns which of these pods has the cgroup: `…/pod<uid>/<id>`, or `…-pod<uid with _>.slice/…` with systemd. */
export function podUIDIn(cgroups: string, uids: readonly string[]): string | undefined {
  const names = cgroups.split(/[/\n]/);
  return uids.find((uid) =>
    names.some((name) => name === `pod${uid}` || name.endsWith(`-pod${uid.replaceAll('-', '_')}.slice`)),
  );
}
