import { randomBytes } from 'node:crypto';
import { readdir, readlink } from 'node:fs/promises';
import { basename, join, posix } from 'node:path';
import { systemClock } from '../../clock.ts';
import { cgroupDrivers, qosCgroups } from '../../engine/container-manager/cgroup-names.ts';
import { openCgroupManager } from '../../engine/container-manager/open-cgroup-manager.ts';
import { removeTree } from '../../engine/host/remove-tree.ts';
import { errorMessage } from '../../errors.ts';
import { exclusively, noteHolder, parseHolder } from '../../exclusively.ts';
import type { Logger } from '../../logger.ts';
import { makeFolder } from '../../make-folder.ts';
import { isRunning } from '../../process-identity.ts';
import type { NodeOptions } from '../options/node-options.ts';
import { tearDownNode } from '../tear-down-node.ts';

/** A link in the root-dir of a run that names its process. */
const holderLink = 'holder';
const runName = /^run-[0-9a-f]{8}$/;

/** A root-dir for one run below that of the node, so that runs side by side share only the runtime and its images. */
export interface IsolatedRun {
  /** As those of the node, for pods with names and UIDs of their own. */
  options: NodeOptions;
  /** Deletes the root-dir, once those of runs that were killed are gone. Keeps it if pods are left in it. */
  close(result: { isEmpty: boolean }): Promise<void>;
}

/** Makes the root-dir of a run, and removes the pods and folders of runs that ended without doing so. */
export async function openIsolatedRun(node: NodeOptions, logger: Logger): Promise<IsolatedRun> {
  const runs = join(node.rootDir, 'runs');
  const name = `run-${randomBytes(4).toString('hex')}`;
  const rootDir = join(runs, name);
  await makeFolder(runs, 0o750);
  // Under a lock, so that only one run removes what another one left.
  const abandoned = await exclusively(join(runs, '.lock'), systemClock, async () => {
    const dead = await abandonedRuns(runs);
    await Promise.all(dead.map((folder) => hold(folder)));
    await makeFolder(rootDir, 0o750);
    await hold(rootDir);
    return dead;
  });
  const cleaning = Promise.all(abandoned.map((folder) => removeRun(folder, node, logger)));
  return {
    options: {
      ...node,
      rootDir,
      nodeName: name,
      cgroupRoot: cgroupRootOf(rootDir, node),
      // The images are those of the node.
      imageGCHighThresholdPercent: 100,
    },
    close: async ({ isEmpty }) => {
      await cleaning;
      if (isEmpty) await removeRun(rootDir, node, logger);
    },
  };
}

const cgroupRootOf = (rootDir: string, node: NodeOptions): string =>
  posix.join('/', node.cgroupRoot, basename(rootDir));

/** The folders of runs whose process has ended. */
async function abandonedRuns(runs: string): Promise<string[]> {
  const folders = (await readdir(runs)).filter((name) => runName.test(name)).map((name) => join(runs, name));
  const isDead = await Promise.all(
    folders.map(async (folder) => {
      // Without a link the process was killed before it made one.
      const holder = await readlink(join(folder, holderLink)).catch(() => undefined);
      return holder === undefined || !(await isRunning(parseHolder(holder)));
    }),
  );
  return folders.filter((_, index) => isDead[index]);
}

/** Makes this process the holder of a run. */
const hold = (folder: string): Promise<void> => noteHolder(join(folder, holderLink));

/** A run that cannot be removed is left to the next run. */
async function removeRun(rootDir: string, node: NodeOptions, logger: Logger): Promise<void> {
  const cgroupRoot = cgroupRootOf(rootDir, node);
  try {
    const { failures } = await tearDownNode({
      rootDir,
      runtimeRootDir: node.runtimeRootDir,
      runtimeEndpoint: node.containerRuntimeEndpoint,
      podLogsDir: node.podLogsDir,
      cgroupRoot,
      deletesClaims: true,
    });
    const [failure] = failures;
    if (failure !== undefined) throw new Error(`pod ${failure.pod}: ${failure.reason}`);
    for (const driver of cgroupDrivers) {
      const cgroups = await openCgroupManager(driver, { clock: systemClock, logger });
      await cgroups.removeIfEmpty(qosCgroups(cgroupRoot).root.slice(0, -1));
    }
    await removeTree(rootDir);
  } catch (error) {
    logger.warn(
      { rootDir, err: errorMessage(error) },
      'An isolated run could not be removed, the next one tries it again',
    );
  }
}
