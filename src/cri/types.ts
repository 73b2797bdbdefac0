/** The CRI messages that the engine reads and writes. A `…Config` may omit any field that has its zero value. */
import type * as cri from './generated/cri.ts';

export type PodSandboxConfig = cri.DeepPartial<cri.PodSandboxConfig>;
export type ContainerConfig = cri.DeepPartial<cri.ContainerConfig>;
export type {
  Container,
  ContainerStats,
  ContainerStatus,
  CpuUsage,
  FilesystemUsage,
  Image,
  MemoryUsage,
  NetworkInterfaceUsage,
  NetworkUsage,
  PodSandbox,
  PodSandboxStats,
  PodSandboxStatus,
  SwapUsage,
  UInt64Value,
} from './generated/cri.ts';
