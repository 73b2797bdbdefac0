import { systemClock } from '../clock.ts';
import { ManagedContainerd } from '../containerd/managed-containerd.ts';
import { managedPaths } from '../containerd/managed-paths.ts';
import { DamagedStoreError } from '../containerd/start-problem.ts';
import { removeServiceRules } from '../containerd/service-network.ts';
import { stopShims } from '../containerd/stop-shims.ts';
import { lastGoodFolder, LastGoodManifests } from '../engine/config/last-good/last-good-manifests.ts';
import type { CgroupManager } from '../engine/container-manager/cgroup-manager.ts';
import { type CgroupDriver, cgroupDrivers } from '../engine/container-manager/cgroup-names.ts';
import { listPodCgroups } from '../engine/container-manager/list-pod-cgroups.ts';
import { openCgroupManager } from '../engine/container-manager/open-cgroup-manager.ts';
import { removeEmptyQOSCgroups, removePodCgroup } from '../engine/container-manager/remove-pod-cgroup.ts';
import { isRootDir } from '../engine/container/root-owner.ts';
import { containerLogLinksDir } from '../engine/container/log-paths.ts';
import { DeadLogs } from '../engine/gc/dead-logs.ts';
import { findLeftCgroups } from '../engine/gc/left-cgroups.ts';
import { type RemovalFailure, tearDownPods } from '../engine/gc/tear-down-pods.ts';
import { writeUndeclared } from '../engine/gc/undeclared-records.ts';
import { historyFolder, historyPath, readHistory } from '../engine/history/history-file.ts';
import { historyOf } from '../engine/history/pod-history.ts';
import { podsWithHistory, writePodRemoved } from '../engine/history/removed-pods.ts';
import { stagedVolumesFolder } from '../engine/csi/csi-files.ts';
import { PodDirs } from '../engine/host/pod-dirs.ts';
import { claimsWithFolder, removeClaimFolders } from '../engine/persistent-volumes/claim-folders.ts';
import { PodRemover } from '../engine/kuberuntime/pod-remover.ts';
import { readTerminationMessage } from '../engine/kuberuntime/read-termination-message.ts';
import { RuntimePods } from '../engine/kuberuntime/runtime-pods.ts';
import { removeTree } from '../engine/host/remove-tree.ts';
import { errorMessage, UserError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { EndpointName } from '../containerd/runtime-endpoint.ts';
import { findRuntimeEndpoint } from './find-runtime.ts';
import { lastRuntime } from './last-runtime.ts';
import { moveToOwnScope } from './own-scope.ts';
import { podsToStop } from './pods-to-stop.ts';
import { reportSetAside } from './report-set-aside.ts';
import { openOwnRuntime } from './runtime-connection.ts';

interface TearDownOptions {
  rootDir: string;
  /** The root-dir of the managed containerd. */
  runtimeRootDir: string;
  /** Empty to find one. */
  runtimeEndpoint: string;
  /** Where its name came from, if not from the flag. */
  runtimeNamedBy?: EndpointName | undefined;
  /**
   * The runtime of the agent that ran until now. Without it, the runtime of the last agent is used if nothing names
   * another.
   */
  runtimeOfAgent?: string | undefined;
  podLogsDir: string;
  cgroupRoot: string;
  /** True to delete the data of all claims, unless a pod that may use them could not be removed. */
  deletesClaims: boolean;
  /** True to fail if the store of the managed containerd is damaged, instead of setting it aside. */
  keepsStore?: boolean;
  logger: Logger;
  /** Called once with the pods to remove, as `namespace/name`. */
  onFound?: (pods: string[]) => void;
  /** Called with `namespace/name` when a pod is removed. */
  onRemoved?: (pod: string) => void;
}

/** The result of a tear-down. */
export interface TornDownNode {
  failures: RemovalFailure[];
  /** The folder whose manifests could not be deleted, and the reason. Undefined if all were deleted. */
  keptManifests: { folder: string; reason: string } | undefined;
  claims: ClaimsLeft;
  /** Why volumes of CSI drivers are still mounted. Undefined if none is. */
  stillMounted: string | undefined;
}

/** The claims that had a folder with data, as `namespace/name`, sorted. */
export interface ClaimsLeft {
  names: string[];
  /** True if their data was deleted. */
  areDeleted: boolean;
  /** Why it could not be deleted. */
  reason?: string;
}

/**
 * Stops and removes every pod of a root-dir without a running agent. Deletes the kept manifests first, so that the next
 * start removes a pod whose removal was interrupted.
 */
export async function tearDownNode(options: TearDownOptions): Promise<TornDownNode> {
  const { logger } = options;
  await recordRemovals(options.rootDir);
  const unforgotten = await deleteKeptManifests(options.rootDir, logger);
  // Tries both drivers, because not every runtime reports its own.
  const managers = await Promise.all(
    cgroupDrivers.map((driver) => openCgroupManager(driver, { clock: systemClock, logger })),
  );
  const { failures, isForeign } = await tearDownPodsOf(options, managers);
  for (const [index, manager] of managers.entries()) {
    await removeLeftCgroups(options, manager, { cgroupDriver: cgroupDrivers[index] ?? 'cgroupfs', isForeign });
    await removeEmptyQOSCgroups(manager, options.cgroupRoot);
  }
  await removeServiceRules(options.rootDir, systemClock).catch((error: unknown) => {
    logger.warn({ err: errorMessage(error) }, 'Kept the iptables rules of Services');
  });
  const mayDelete = options.deletesClaims && failures.length === 0;
  const stillMounted = failures.length === 0 ? await unmountStaged(options.rootDir) : undefined;
  return { failures, keptManifests: unforgotten, claims: await claimsLeft(options.rootDir, mayDelete), stillMounted };
}

/** The next start continues interrupted removals. A full disk does not prevent this. */
async function recordRemovals(rootDir: string): Promise<void> {
  const podDirs = new PodDirs({ rootDir });
  for (const uid of await podDirs.podUIDs()) {
    await writeUndeclared(podDirs.podDir(uid), 'removed').catch(() => undefined);
  }
}

/** Removes the cgroups of pods of this root-dir that were removed earlier, unless processes run in them. */
async function removeLeftCgroups(
  { rootDir, cgroupRoot, logger }: TearDownOptions,
  manager: CgroupManager,
  { cgroupDriver, isForeign }: { cgroupDriver: CgroupDriver; isForeign: TornDownPods['isForeign'] },
): Promise<void> {
  const present = new Set(await new PodDirs({ rootDir }).podUIDs());
  const { empty, populated } = await findLeftCgroups({
    cgroups: await listPodCgroups(manager, { cgroupRoot, cgroupDriver }),
    isPopulated: (path) => manager.isPopulated(path),
    isPresent: (uid) => present.has(uid) || isForeign?.(uid) === true,
    ownAmong: (uids) => podsWithHistory(historyFolder(rootDir), uids),
  });
  for (const { uid } of empty) await removePodCgroup(manager, cgroupRoot, uid);
  // They may belong to another agent's pod with the same UID.
  if (isForeign === undefined) return;
  for (const { uid, path } of populated)
    logger.warn({ podUID: uid, cgroup: path }, 'Kept the cgroup of a removed pod, because processes run in it');
}

/** Unmounts volumes that CSI drivers mounted for removed pods. Works without the drivers. */
async function unmountStaged(rootDir: string): Promise<string | undefined> {
  try {
    await removeTree(stagedVolumesFolder(rootDir));
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

async function claimsLeft(rootDir: string, mayDelete: boolean): Promise<ClaimsLeft> {
  const names = (await claimsWithFolder(rootDir)).map(({ namespace, name }) => `${namespace}/${name}`);
  if (!mayDelete) return { names, areDeleted: false };
  try {
    // A folder that was named by mistake may contain folders with the same names.
    if (!(await isRootDir(rootDir))) {
      const reason = `${rootDir} is not a root-dir of kubelet-ts, because it has no state/owner.json`;
      return { names, areDeleted: false, ...(names.length > 0 && { reason }) };
    }
    await removeClaimFolders(rootDir);
    return { names, areDeleted: true };
  } catch (error) {
    return { names, areDeleted: false, reason: errorMessage(error) };
  }
}

async function deleteKeptManifests(rootDir: string, logger: Logger): Promise<TornDownNode['keptManifests']> {
  try {
    await new LastGoodManifests({ rootDir, clock: systemClock, logger }).removeAll();
    return undefined;
  } catch (error) {
    return { folder: lastGoodFolder(rootDir), reason: errorMessage(error) };
  }
}

interface TornDownPods {
  failures: RemovalFailure[];
  /** True for a pod in the runtime that belongs to another agent. Undefined if the runtime was not queried. */
  isForeign: ((uid: string) => boolean) | undefined;
}

async function tearDownPodsOf(options: TearDownOptions, managers: readonly CgroupManager[]): Promise<TornDownPods> {
  const { rootDir, runtimeRootDir, podLogsDir, cgroupRoot, logger, onRemoved = () => undefined } = options;
  const { onFound = () => undefined } = options;
  const podDirs = new PodDirs({ rootDir });
  const uids = await podDirs.podUIDs();
  if (uids.length === 0) return { failures: [], isForeign: undefined };
  const { endpoint, managed } = await findRuntimeEndpoint({
    rootDir: runtimeRootDir,
    flag: options.runtimeEndpoint,
    flagName: options.runtimeNamedBy,
    ofAgent: options.runtimeOfAgent ?? (await lastRuntime(rootDir, logger)),
  });
  const containerd = managed ? await startContainerd(options) : undefined;
  const done = new AbortController();
  const connection = await openOwnRuntime(endpoint, { rootDir, makesPods: false, logger, signal: done.signal });
  const { runtime, foreignPods } = connection;
  const isForeign = (uid: string): boolean => foreignPods.holderOf(uid) !== undefined;
  try {
    const failures = await tearDownPods({
      runtime,
      runtimePods: new RuntimePods({ runtime, readTerminationMessage }),
      podRemover: new PodRemover({ runtime, foreignPods, podLogsDir, containerLogLinksDir }),
      podDirs,
      removePodCgroup: async (uid) => {
        // The cgroup with this name may then contain processes of another program's pod.
        if (isForeign(uid)) return;
        for (const manager of managers) await removePodCgroup(manager, cgroupRoot, uid);
      },
      dropRestarts: (uid, pod) => writePodRemoved(historyFolder(rootDir), uid, pod),
      onFound,
      onRemoved,
      clock: systemClock,
    });
    await removeDeadLogs({ options, uids, isForeign });
    await containerd?.network.dropRules();
    return { failures: managed ? await stopFailed(options, failures) : failures, isForeign };
  } finally {
    done.abort();
    connection.close();
    containerd?.release();
  }
}

interface LogOwners {
  options: TearDownOptions;
  /** Of the removed pods. */
  uids: readonly string[];
  isForeign: (uid: string) => boolean;
}

/** Removes what removing a pod misses, such as links to logs of containers that the runtime lost before. */
async function removeDeadLogs({ options, uids, isForeign }: LogOwners): Promise<void> {
  const { rootDir, podLogsDir, logger } = options;
  const logs = new DeadLogs({
    podLogsDir,
    containerLogLinksDir,
    isForeign,
    isKnown: () => false,
    runningContainers: () => new Set(),
    wasOurs: async ({ uid, ...pod }) =>
      historyOf(await readHistory(historyPath(historyFolder(rootDir), pod))).hasRevision(uid),
    logger,
  });
  const { logDirs, brokenLogLinks } = await logs.find(new Set(uids));
  await logs.remove({ logDirsToRemove: logDirs, logLinksToRemove: brokenLogLinks });
}

/**
 * Adopts the running containerd or starts one, because pods keep running without it and only a containerd can remove
 * them. If none comes up, stops the pods without it, and tries once more if their store is damaged: with nothing left
 * running, it may be set aside.
 */
async function startContainerd(options: TearDownOptions): Promise<ManagedContainerd> {
  const { runtimeRootDir, logger } = options;
  const open = async (): Promise<ManagedContainerd> => {
    const containerd = new ManagedContainerd({
      rootDir: runtimeRootDir,
      clock: systemClock,
      logger,
      moveToScope: (process) => moveToOwnScope(process, { rootDir: runtimeRootDir, clock: systemClock, logger }),
      ...(options.keepsStore !== true && { onSetAside: reportSetAside(logger) }),
    });
    await containerd.startToStop();
    return containerd;
  };
  try {
    return await open();
  } catch (error) {
    const stopped = await stopWithoutContainerd(options);
    if (stopped.length === 0) throw error;
    if (error instanceof DamagedStoreError && options.keepsStore !== true) return open();
    const pods = stopped.length === 1 ? '1 pod are' : `${stopped.length} pods are`;
    const message = `The containers of ${pods} stopped, but only containerd can remove them. ${errorMessage(error)}`;
    throw new UserError(message, { ...(error instanceof UserError && { hint: error.hint ?? '' }), cause: error });
  }
}

/** Resolves to the UIDs of the pods that had running containers. */
async function stopWithoutContainerd({ rootDir, runtimeRootDir }: TearDownOptions): Promise<string[]> {
  return stopShims(await podsToStop(rootDir), { paths: managedPaths(runtimeRootDir), clock: systemClock });
}

/** Stops the containers of pods that containerd could not stop, such as on a disk that became read-only. */
async function stopFailed(options: TearDownOptions, failures: readonly RemovalFailure[]): Promise<RemovalFailure[]> {
  if (!failures.some(({ mayRun }) => mayRun)) return [...failures];
  return withStopped(failures, await stopWithoutContainerd(options));
}

/** Returns the failures once these pods, by UID, are stopped. Others may run on. */
export function withStopped(failures: readonly RemovalFailure[], stopped: readonly string[]): RemovalFailure[] {
  return failures.map((failure) =>
    failure.mayRun && stopped.includes(failure.uid)
      ? { ...failure, mayRun: false, reason: `it is stopped, but ${failure.reason}` }
      : failure,
  );
}
