import { randomBytes } from 'node:crypto';
import { readdir, readlink } from 'node:fs/promises';
import { basename, dirname, join, posix } from 'node:path';
import { systemClock } from '../../clock.ts';
import { cgroupDrivers, qosCgroups } from '../../engine/container-manager/cgroup-names.ts';
import { openCgroupManager } from '../../engine/container-manager/open-cgroup-manager.ts';
import { removeTree } from '../../engine/host/remove-tree.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import { withFileLock, recordHolder, parseHolder } from '../../files/file-lock.ts';
import type { Logger } from '../../logger.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { isRunning } from '../../process/process-identity.ts';
import type { NodeOptions } from '../options/node-options.ts';
import { tearDownNode } from '../tear-down-node.ts';

/** A link in the root-dir of a run that names its process. */
const holderLink = 'holder';
const runName = /^run-[0-9a-f]{8}$/;

/** A root-dir for one run below that of the node, so that parallel runs share only the runtime and its images. */
export interface IsolatedRun {
  /** Like those of the node, but pods get separate names and UIDs. */
  options: NodeOptions;
  /** Deletes the root-dir, after those of killed runs. Keeps it if pods are left in it. */
  close(result: { isEmpty: boolean }): Promise<void>;
}

/** The options of a node that the removal of its runs needs. */
type RemovalOptions = Pick<
  NodeOptions,
  'rootDir' | 'runtimeRootDir' | 'containerRuntimeEndpoint' | 'podLogsDir' | 'cgroupRoot'
>;

const runsFolder = ({ rootDir }: RemovalOptions): string => join(rootDir, 'runs');
const lockOf = (runs: string): string => join(runs, '.lock');

/** A killed run that could not be removed. The next run or `down` tries again. */
interface UnremovedRun {
  name: string;
  reason: string;
  /** True if a container of it may run. */
  mayRun: boolean;
}

/** The isolated runs of a node after the abandoned ones were removed. */
export interface RunsLeft {
  /** Names of the removed runs. */
  removed: string[];
  /** Names of the runs that still run. */
  live: string[];
  failed: UnremovedRun[];
}

/** Removes the pods and folders of abandoned runs. */
export async function removeAbandonedRuns(node: RemovalOptions, logger: Logger): Promise<RunsLeft> {
  const runs = runsFolder(node);
  if ((await runsIn(runs)).length === 0) return { removed: [], live: [], failed: [] };
  const abandoned = await withFileLock(lockOf(runs), systemClock, () => claimAbandoned(runs));
  const removals = await Promise.all(abandoned.map((folder) => removeRun(folder, node, logger)));
  const failed = removals.flatMap((failure) => failure ?? []);
  const hasFailed = (name: string): boolean => failed.some((failure) => failure.name === name);
  const namesOf = (folders: readonly string[]): string[] =>
    folders.map((folder) => basename(folder)).filter((name) => !hasFailed(name));
  return { removed: namesOf(abandoned), live: namesOf(await runsIn(runs)), failed };
}

/**
 * Creates the root-dir of a run, and removes the pods and folders of abandoned runs. Rejects with the signal's reason
 * if it is aborted first.
 */
export async function openIsolatedRun(node: NodeOptions, logger: Logger, signal: AbortSignal): Promise<IsolatedRun> {
  const runs = runsFolder(node);
  const name = `run-${randomBytes(4).toString('hex')}`;
  const rootDir = join(runs, name);
  await makeFolder(runs, 0o750);
  // Under a lock, so that only one run removes the leftovers of another.
  const open = async (): Promise<string[]> => {
    const dead = await claimAbandoned(runs);
    await makeFolder(rootDir, 0o750);
    await claim(rootDir);
    return dead;
  };
  const abandoned = await withFileLock(lockOf(runs), systemClock, open, { signal });
  const remove = async (folder: string): Promise<void> => {
    const failure = await removeRun(folder, node, logger);
    if (failure === undefined) return;
    const message = 'An isolated run could not be removed; the next one tries again';
    logger.warn({ rootDir: folder, err: failure.reason }, message);
  };
  const cleaning = Promise.all(abandoned.map(remove));
  return {
    options: {
      ...node,
      rootDir,
      nodeName: name,
      cgroupRoot: cgroupRootOf(rootDir, node),
      // Uses the images of the node.
      imageGCHighThresholdPercent: 100,
    },
    close: async ({ isEmpty }) => {
      await cleaning;
      if (isEmpty) await remove(rootDir);
    },
  };
}

const cgroupRootOf = (rootDir: string, node: RemovalOptions): string =>
  posix.join('/', node.cgroupRoot, basename(rootDir));

async function runsIn(runs: string): Promise<string[]> {
  const names = await readdir(runs).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  });
  return names.filter((name) => runName.test(name)).map((name) => join(runs, name));
}

/** Claims the folders of runs whose process has exited, and returns them. */
async function claimAbandoned(runs: string): Promise<string[]> {
  const folders = await runsIn(runs);
  const isDead = await Promise.all(
    folders.map(async (folder) => {
      // Without a link, the process was killed before it created one.
      const holder = await readlink(join(folder, holderLink)).catch(() => undefined);
      return holder === undefined || !(await isRunning(parseHolder(holder)));
    }),
  );
  const dead = folders.filter((_, index) => isDead[index]);
  await Promise.all(dead.map((folder) => claim(folder)));
  return dead;
}

/** Makes this process the owner of a run. */
const claim = (folder: string): Promise<void> => recordHolder(join(folder, holderLink));

/** Removes the pods and the folder of a run of this process. Returns the failure, if there is one. */
async function removeRun(rootDir: string, node: RemovalOptions, logger: Logger): Promise<UnremovedRun | undefined> {
  const cgroupRoot = cgroupRootOf(rootDir, node);
  let mayRun = true;
  try {
    const { failures } = await tearDownNode({
      rootDir,
      runtimeRootDir: node.runtimeRootDir,
      runtimeEndpoint: node.containerRuntimeEndpoint,
      podLogsDir: node.podLogsDir,
      cgroupRoot,
      deletesClaims: true,
      logger,
    });
    mayRun = failures.some((failure) => failure.mayRun);
    const [failure] = failures;
    if (failure !== undefined) throw new Error(`pod ${failure.pod}: ${failure.reason}`);
    for (const driver of cgroupDrivers) {
      const cgroups = await openCgroupManager(driver, { clock: systemClock, logger });
      await cgroups.removeIfEmpty(qosCgroups(cgroupRoot).root.slice(0, -1));
    }
    // Under the lock, because the link to this process may be removed first. A run without it counts as abandoned.
    await withFileLock(lockOf(dirname(rootDir)), systemClock, () => removeTree(rootDir));
    return undefined;
  } catch (error) {
    return { name: basename(rootDir), reason: errorMessage(error), mayRun };
  }
}
