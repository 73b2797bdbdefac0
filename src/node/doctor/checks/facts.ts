import type { EvictionThreshold } from '../../../api/values/eviction-thresholds.ts';
import type { CgroupDriver } from '../../../engine/container-manager/cgroup-names.ts';
import type { Resolvers } from '../../../engine/network/resolvers.ts';
import type { Swap } from '../../../engine/container-manager/machine.ts';
import type { CgroupMode } from '../../../containerd/find-containerd.ts';
import type { Snapshotter } from '../../../containerd/snapshotter.ts';
import type { SavedRules } from '../parse-ruleset.ts';
import type { UpgradeState } from '../../upgrade/program-files.ts';
import type { Fact } from './finding.ts';

/** All facts that the checks judge. `node/doctor/diagnose.ts` collects them. */
export interface Facts {
  settings: Settings;
  configuration: { error?: Trouble; warnings: string[] };
  rights: Fact<RightsFacts>;
  kernel: Fact<KernelFacts>;
  cgroups: Fact<CgroupFacts>;
  runtime: Fact<RuntimeFacts>;
  handlers: Fact<HandlerFacts>;
  cdi: Fact<CDIFile[]>;
  network: Fact<NetworkFacts>;
  /** What cuts off the pods on our bridge: an overlapping route, or that it has none. Absent if nothing does. */
  collision: Fact<{ sentence?: string; cure?: string }>;
  disks: Fact<DiskFacts>[];
  memory: Fact<MemoryFacts>;
  clock: Fact<ClockFacts>;
  paths: Fact<PathFacts>[];
  ports: Fact<PortFacts>[];
  /** Host ports of pods on which programs of this machine listen. */
  hostPorts: Fact<HostPortFacts[]>;
  agents: Fact<AgentFacts>;
  upgrade: Fact<UpgradeFacts>;
  /** Undefined without --registry. */
  registry?: Fact<RegistryFacts>;
}

/** The part of the configuration that the checks need. */
export interface Settings {
  rootDir: string;
  cgroupDriver: CgroupDriver;
  protectKernelDefaults: boolean;
  /** True if failSwapOn was set. */
  refusesSwap: boolean;
  thresholds: readonly EvictionThreshold[];
  snapshotter: Snapshotter;
}

/** An error message for the user, with its hint. */
export interface Trouble {
  message: string;
  hint?: string;
}

export interface RightsFacts {
  uid: number;
  /** The effective capabilities as a bit mask: capabilities(7). */
  capabilities: bigint;
}

export interface KernelFacts {
  /** Such as `6.1.0-31-amd64`. */
  release: string;
  fileSystems: string[];
  /** Modules that pods need and that the kernel can load. */
  loadableModules: string[];
  /** Kinds of namespaces, as in /proc/self/ns. */
  namespaces: string[];
  /** Settings by name. A missing one has no entry. */
  sysctls: Readonly<Record<string, string>>;
}

export interface CgroupFacts {
  mode: CgroupMode | 'none';
  /** Controllers that the kernel offers here. */
  offered: string[];
  isWritable: boolean;
  /** Only for cgroup v2: the state of our top folder. */
  unified?: {
    /** Controllers that its children get. */
    delegated: string[];
    /** False in a container with its own cgroup namespace. */
    isRoot: boolean;
    hasProcesses: boolean;
  };
}

/** The container runtime that `run` would use. */
export type RuntimeFacts =
  | { kind: 'none'; trouble: Trouble }
  | {
      kind: 'chosen';
      endpoint: string;
      managed: boolean;
      because: string;
      /** The programs of a managed containerd. */
      programs?: Programs | Trouble;
      /** Undefined for a managed containerd that does not run. */
      answer?: RuntimeAnswer | Trouble;
    };

export interface Programs {
  containerd: string;
  version: string;
  ociRuntime: string;
}

export interface RuntimeAnswer {
  name: string;
  version: string;
  conditions: { type: string; status: boolean; reason: string; message: string }[];
  /** Commands that give the runtime a network for pods. */
  networkCommands: readonly string[];
  /** Undefined if the runtime does not report it. */
  cgroupDriver?: CgroupDriver;
  /** Handlers that a RuntimeClass can name. Undefined if the runtime does not report them. */
  handlers?: string[];
  hasSystemd: boolean;
}

/** Runtimes other than runc. */
export interface HandlerFacts {
  /** Of the manifests and the configuration. */
  classes: { name: string; handler: string }[];
  /** Files that extend the managed containerd. Undefined for another runtime. */
  dropIns?: {
    folder: string;
    logFile: string;
    /** A sentence for each file, or key, that containerd does not understand. */
    refused: readonly string[];
    unknown: readonly string[];
    /** True if the running containerd did not start with them. */
    isLeftOut: boolean;
    /** The runtimes that they add, and which of their programs are not installed. */
    runtimes: { name: string; file: string; missing: string[] }[];
  };
}

/** A file that describes devices for containers. */
export interface CDIFile {
  path: string;
  /** Why it cannot be used. */
  error?: string;
  /** As pods and plugins ask for them: `vendor.com/gpu=0`. */
  names: string[];
  /** What it would give to containers, but does not exist. */
  missing: { use: string; path: string }[];
}

export interface NetworkFacts {
  /** Folders of CNI plugins that exist. */
  pluginFolders: { folder: string; plugins: string[] }[];
  /** Configurations of this machine in /etc/cni/net.d. */
  configs: { path: string; types: string[]; error?: string }[];
  iptables?: string;
  nft?: string;
  /** Why iptables cannot list its rules. Undefined if it can, or if it was not tried. */
  iptablesError?: string;
  /** What decides whether packets of pods arrive. */
  packets: PacketFacts;
  ipForward?: string;
  /** Undefined without a resolver file. */
  dns?: DNSFacts;
  installHint: string;
}

/** A network interface, with the address families that are routed over it. */
export interface LinkFacts {
  name: string;
  families: ('IPv4' | 'IPv6')[];
  /** In bytes. */
  mtu?: number;
}

export interface PacketFacts {
  /** The bridges of kubelet-ts that have pods. */
  bridges: LinkFacts[];
  /** The interfaces with a default route. `rpFilter` is 1 for strict checks of senders. */
  uplinks: (LinkFacts & { rpFilter: number })[];
  hasFirewalld: boolean;
  /** Absent if iptables is missing, or if this user may not list its rules. */
  rules?: SavedRules;
  /** Chains of nftables that drop forwarded packets, except those of iptables. */
  droppingChains: string[];
}

/** The node's resolver file: its servers, or why it cannot be read. */
export interface DNSFacts {
  resolvConf: string;
  resolvers: Resolvers | Trouble;
}

export interface DiskFacts {
  use: 'root-dir' | 'images' | 'logs';
  path: string;
  freeBytes: bigint;
  sizeBytes: bigint;
  freeInodes: bigint;
  /** 0 for a file system that creates inodes as needed. */
  inodes: bigint;
  /** Where it is mounted, if it is read-only. */
  readOnlyMount?: string | undefined;
  /** Where it is mounted, if programs on it cannot be executed. */
  noexecMount?: string | undefined;
}

export interface MemoryFacts {
  availableBytes: bigint;
  totalBytes: bigint;
  swaps: readonly Swap[];
  hasSwapController: boolean;
}

export interface ClockFacts {
  /** Milliseconds since the epoch, as are all times here. */
  now: number;
  /** When the program was built. The clock cannot be earlier. */
  builtAt: number;
  /** How far each change of the clock since boot moved it, in milliseconds, oldest first. */
  stepsMs: number[];
}

export interface PathFacts {
  what: 'root-dir' | 'control socket' | 'manifests';
  path: string;
  /** Undefined if it does not exist. */
  found?: { uid: number; mode: number; isLink: boolean };
}

export interface PortFacts {
  port: number;
  flag: string;
  /** Undefined if the port is free. */
  holder?: { pid?: number; command: string };
}

export interface HostPortFacts {
  pod: string;
  /** Which program listens on which port, as a sentence. */
  sentence: string;
}

export interface AgentFacts {
  /** The agent of this root-dir. */
  own?: { pid: number; version?: string } | Trouble;
  /** Running pods of this root-dir. Absent if they are unknown. */
  runningPods?: number;
  /** Other kubelets, of any kind. A kubelet of Kubernetes has no root-dir here. */
  others: { pid: number; rootDir?: string }[];
  /** Number of pods of this root-dir that keep running although no manifest declares them. */
  undeclaredPods?: number;
}

export interface UpgradeFacts {
  /** The file that an upgrade replaces. */
  program: string;
  /** Undefined if no upgrade is pending or was undone. */
  state: UpgradeState | undefined;
}

export interface RegistryFacts {
  url: string;
  /** HTTP status, or why there is none. */
  answer: { status: number } | { error: string };
}
