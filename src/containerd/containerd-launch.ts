import { chmod, readFile } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import { withFileLock } from '../files/file-lock.ts';
import { makeFolder } from '../files/make-folder.ts';
import { writeFileAtomic } from '../files/write-file-atomic.ts';
import type { ProcessIdentity } from '../process/process-identity.ts';
import { type ContainerdConfigOptions, generateContainerdConfig } from './containerd-config.ts';
import type { LaunchChanges, PreparedLaunch } from './containerd-supervisor.ts';
import { dropInsOf, dropInsRemark, leftOutText } from './drop-ins-remark.ts';
import type { InstalledContainerd } from './find-containerd.ts';
import type { ManagedPaths } from './managed-paths.ts';
import { startChanges } from './outdated-start.ts';
import { pauseImageName } from './pause/pause-image.ts';
import type { PodNetwork } from './pod-network.ts';
import { readDropIns } from './read-drop-ins.ts';
import { watchesFolder } from './watches-folder.ts';
import { chooseSnapshotter, nativeWarning } from './snapshotter.ts';

interface Deps {
  readonly paths: ManagedPaths;
  readonly clock: Clock;
  readonly network: Pick<PodNetwork, 'configure'>;
  /** Finds the containerd to run. */
  readonly find: () => Promise<InstalledContainerd>;
  readonly systemdCgroup: boolean;
  /** If true, a running containerd is restarted for another program, proxy variables, certificates or drop-ins. */
  readonly restartsForChanges: boolean;
}

/** Writes the configuration with which containerd starts. */
export class ContainerdLaunch {
  constructor(private readonly deps: Deps) {}

  async prepare(): Promise<PreparedLaunch> {
    const { paths, clock, network, find, systemdCgroup } = this.deps;
    const { containerd, version, ociRuntime } = await find();
    const { base, root, state, socket, configFile, registryHosts } = paths;
    await makeFolder(base, 0o700);
    await chmod(base, 0o700);
    const [cni, hasSysResource, snapshotter] = await Promise.all([
      network.configure(),
      readHasSysResource(),
      withFileLock(paths.launchLock, clock, () => chooseSnapshotter(base)),
    ]);
    const dropIns = await readDropIns(paths.dropIns, { containerd, version });
    const common: ContainerdConfigOptions = {
      version,
      root,
      state,
      socket,
      cniBinDir: cni.binDir,
      cniConfDir: cni.confDir,
      pauseImage: pauseImageName,
      ociRuntime,
      restrictOOMScoreAdj: !hasSysResource,
      systemdCgroup,
      snapshotter,
      registryConfigPath: `${registryHosts}:/etc/containerd/certs.d`,
    };
    const slow = snapshotter === 'native' ? [nativeWarning(base)] : [];
    const write = async (isPlain: boolean): Promise<string[]> => {
      const { stamp, accepted, refused, unknown } = dropIns;
      const remark = dropInsRemark({ stamp, isLeftOut: isPlain });
      const { text, ignored } = generateContainerdConfig({ ...common, remark, ...(!isPlain && { dropIns: accepted }) });
      await writeFileAtomic(configFile, text);
      return [...cni.warnings, ...slow, ...refused, ...(isPlain ? [] : [...unknown, ...ignored])];
    };
    return {
      containerd,
      warnings: await write(false),
      ...(dropIns.stamp !== '' && {
        plainer: async (failure) => ({ containerd, warnings: [...(await write(true)), leftOutText(paths, failure)] }),
      }),
    };
  }

  /** Returns what a running containerd did not get, because it changed after its start. */
  async changesOf(process: ProcessIdentity): Promise<LaunchChanges> {
    const { paths, find, restartsForChanges } = this.deps;
    // The running one is kept if no other one is installed.
    const installed = restartsForChanges ? await find().catch(() => undefined) : undefined;
    if (installed === undefined) return { changes: [], warnings: [] };
    const [changes, { stamp, refused, unknown }, config] = await Promise.all([
      startChanges(process, installed.containerd),
      readDropIns(paths.dropIns, installed),
      readFile(paths.configFile, 'utf8').catch(() => undefined),
    ]);
    if (config === undefined) return { changes: [...changes, 'the configuration, which cannot be read'], warnings: [] };
    const running = dropInsOf(config);
    return {
      changes: [
        ...changes,
        ...(stamp === running.stamp ? [] : ['the files in conf.d']),
        ...((await followsNetwork(process, config))
          ? []
          : ['the folder of network configurations, which was replaced']),
      ],
      warnings: [...refused, ...(running.isLeftOut ? [leftOutText(paths)] : unknown)],
    };
  }
}

/** False if containerd 1.x would never read a network configuration again, because it follows a folder that is gone. */
async function followsNetwork({ pid }: ProcessIdentity, config: string): Promise<boolean> {
  const [, folder] = /^\s*conf_dir = "([^"]+)"$/m.exec(config) ?? [];
  if (folder === undefined) return true;
  // If it has exited, the next start has the folder of now.
  return watchesFolder(pid, folder).catch(() => true);
}

/** Bit of CAP_SYS_RESOURCE, which is needed to lower an oom_score_adj or raise a hard limit. See capabilities(7). */
const sysResourceBit = 24n;

/** True if the process has CAP_SYS_RESOURCE in effect. `status` is the content of its /proc/<pid>/status. */
export function hasSysResource(status: string): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> sysResourceBit) & 1n) === 1n;
}

/** True if we, and therefore our children, have CAP_SYS_RESOURCE. */
async function readHasSysResource(): Promise<boolean> {
  return hasSysResource(await readFile('/proc/self/status', 'utf8'));
}
