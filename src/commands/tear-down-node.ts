import { systemClock } from '../clock.ts';
import { ManagedContainerd } from '../containerd/managed-containerd.ts';
import { readCgroupDriver } from '../engine/container-manager/read-cgroup-driver.ts';
import { PodCgroups } from '../engine/container-manager/pod-cgroups.ts';
import { PodRemover } from '../engine/gc/pod-remover.ts';
import { tearDownPods } from '../engine/gc/tear-down-pods.ts';
import { containerLogLinksDir } from '../engine/kuberuntime/log-paths.ts';
import { readTerminationMessage } from '../engine/kuberuntime/read-termination-message.ts';
import { RuntimePods } from '../engine/kuberuntime/runtime-pods.ts';
import { PodDirs } from '../engine/pod-dirs.ts';
import { createLogger } from './create-logger.ts';
import { findRuntimeEndpoint } from './find-runtime.ts';
import { openRuntime } from './runtime-connection.ts';

/** Stops and removes every pod of a root-dir on which no agent runs; resolves to their names. */
export async function tearDownNode(options: {
  rootDir: string;
  containerRuntimeEndpoint?: string;
  podLogsDir: string;
  cgroupRoot: string;
}): Promise<string[]> {
  const { rootDir, podLogsDir, cgroupRoot } = options;
  const podDirs = new PodDirs({ rootDir });
  if ((await podDirs.podUIDs()).length === 0) return [];
  const { endpoint, managed } = await findRuntimeEndpoint({ rootDir, flag: options.containerRuntimeEndpoint });
  const containerd = managed ? await startContainerd(rootDir) : undefined;
  const connection = await openRuntime(endpoint);
  const { runtime } = connection;
  try {
    const cgroupDriver = await readCgroupDriver(runtime);
    return await tearDownPods({
      runtime,
      runtimePods: new RuntimePods({ runtime, readTerminationMessage }),
      podRemover: new PodRemover({ runtime, podLogsDir, containerLogLinksDir }),
      podDirs,
      cgroups: new PodCgroups({ node: { cgroupsPerQOS: true, cgroupDriver, cgroupRoot } }),
      clock: systemClock,
    });
  } finally {
    connection.close();
    containerd?.release();
  }
}

/** Adopts the one that runs; pods outlive theirs, and only a containerd can stop them. */
async function startContainerd(rootDir: string): Promise<ManagedContainerd> {
  const { logger } = await createLogger('text', 'warn');
  const containerd = new ManagedContainerd({ rootDir, clock: systemClock, logger });
  await containerd.start();
  return containerd;
}
