import { stringify, type TomlTable } from 'smol-toml';
import { isAtLeast, type ContainerdVersion } from './containerd-version.ts';
import { type DropIn, mergeDropIns } from './merge-drop-ins.ts';

/** Inputs of a managed containerd's configuration. Paths are absolute. */
export interface ContainerdConfigOptions {
  readonly version: Pick<ContainerdVersion, 'major' | 'minor'>;
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  readonly cniBinDir: string;
  readonly cniConfDir: string;
  /** Name of the pause image, which holds a pod's namespaces. */
  readonly pauseImage: string;
  readonly ociRuntime: string;
  /** True if we lack CAP_SYS_RESOURCE: containers then cannot get an oom_score_adj below ours. */
  readonly restrictOOMScoreAdj: boolean;
  /** True if systemd owns the cgroup tree and the kubelet's cgroup driver is systemd. */
  readonly systemdCgroup: boolean;
  readonly snapshotter: 'overlayfs' | 'native';
  /** Folders of registry host settings, separated by colons. The first one with a folder for the registry is used. */
  readonly registryConfigPath: string;
  readonly logLevel?: 'debug' | 'info' | 'warn';
  /** Files of the user that extend it, in the order of their names. */
  readonly dropIns?: readonly DropIn[];
  /** A sentence about these files for the head of the configuration. */
  readonly remark?: string | undefined;
}

/** The configuration as a file, and what drop-ins set in vain: one sentence each. */
interface GeneratedConfig {
  readonly text: string;
  readonly ignored: readonly string[];
}

/**
 * Generates the configuration of a managed containerd, for 1.6 and 1.7 (`version = 2`) and 2.x (`version = 3`). It does
 * not depend on the cgroup version, which containerd and runc detect themselves.
 */
export function generateContainerdConfig(options: ContainerdConfigOptions): GeneratedConfig {
  const { dropIns = [], remark, version, systemdCgroup } = options;
  const { config, ignored } = mergeDropIns(baseConfig(options), dropIns, { version, systemdCgroup });
  const head = 'Written by kubelet-ts at each start of its containerd; changes made here are lost.';
  const comments = [head, ...(remark === undefined ? [] : [remark])].map((line) => `# ${line}\n`).join('');
  return { text: comments + stringify(config, { numbersAsFloat: true }), ignored };
}

/** What the agent needs. Integers are of type bigint, because TOML distinguishes them from floats. */
function baseConfig(options: ContainerdConfigOptions): TomlTable {
  const { root, state, socket, restrictOOMScoreAdj, logLevel = 'warn' } = options;
  const isV2 = isAtLeast(options.version, 2, 0);
  return {
    version: isV2 ? 3n : 2n,
    root,
    state,
    // The OOM killer chooses it last, as with containerd's service files. Without the capability, we may not set this.
    oom_score: restrictOOMScoreAdj ? 0n : -999n,
    disabled_plugins: disabledPlugins,
    grpc: { address: socket, uid: 0n, gid: 0n },
    debug: { level: logLevel },
    plugins: {
      // Disabled, because it would listen on the socket of the machine's own containerd.
      'io.containerd.nri.v1.nri': { disable: true },
      ...(isV2 ? pluginsOfV2(options) : pluginsOfV1(options)),
    },
  };
}

/**
 * Plugins that the CRI does not need. Each uses a folder outside ours, a timer, or a probe of the machine at startup.
 */
const disabledPlugins = [
  // Creates /opt/containerd.
  'io.containerd.internal.v1.opt',
  // Checks all containers every 10 s for restarts requested by Docker-like clients. The first name is for 1.x, the
  // second for 2.x.
  'io.containerd.internal.v1.restart',
  'io.containerd.monitor.container.v1.restart',
  'io.containerd.snapshotter.v1.aufs',
  'io.containerd.snapshotter.v1.blockfile',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.erofs',
  'io.containerd.snapshotter.v1.zfs',
  'io.containerd.tracing.processor.v1.otlp',
];

function pluginsOfV1(options: ContainerdConfigOptions): TomlTable {
  return {
    'io.containerd.grpc.v1.cri': {
      sandbox_image: options.pauseImage,
      restrict_oom_score_adj: options.restrictOOMScoreAdj,
      ...networkNamespaces,
      ...streaming,
      cni: { bin_dir: options.cniBinDir, conf_dir: options.cniConfDir },
      registry: { config_path: options.registryConfigPath },
      containerd: { snapshotter: options.snapshotter, ...runtimes(options) },
      // 1.6 has no CDI, and 2.x enables it by default.
      ...(isAtLeast(options.version, 1, 7) && { enable_cdi: true }),
    },
  };
}

function pluginsOfV2(options: ContainerdConfigOptions): TomlTable {
  return {
    'io.containerd.cri.v1.images': {
      snapshotter: options.snapshotter,
      pinned_images: { sandbox: options.pauseImage },
      registry: { config_path: options.registryConfigPath },
    },
    'io.containerd.cri.v1.runtime': {
      restrict_oom_score_adj: options.restrictOOMScoreAdj,
      ...networkNamespaces,
      // A list since 2.1; the old form logs a warning.
      cni: isAtLeast(options.version, 2, 1)
        ? { bin_dirs: [options.cniBinDir], conf_dir: options.cniConfDir }
        : { bin_dir: options.cniBinDir, conf_dir: options.cniConfDir },
      containerd: runtimes(options),
    },
    'io.containerd.grpc.v1.cri': streaming,
  };
}

/**
 * Mounts the network namespaces of pods below our own state folder. The first `ip netns add` of a machine mounts
 * /run/netns over itself, after which earlier mounts there cannot be removed (EBUSY).
 */
const networkNamespaces = { netns_mounts_under_state_dir: true };

/** Streams of exec, attach and port-forward use any free port and can be reached from this machine only. */
const streaming = { disable_tcp_service: true, stream_server_address: '127.0.0.1', stream_server_port: '0' };

/** One runtime, which is also the default. */
function runtimes({ ociRuntime, systemdCgroup }: ContainerdConfigOptions): TomlTable {
  return {
    default_runtime_name: 'runc',
    runtimes: {
      runc: {
        runtime_type: 'io.containerd.runc.v2',
        options: { BinaryName: ociRuntime, SystemdCgroup: systemdCgroup },
      },
    },
  };
}
