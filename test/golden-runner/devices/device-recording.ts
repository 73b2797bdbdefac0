/** A recorded scenario of device plugins; test/golden/devices/README.md says what each member means. */
export interface DeviceRecording {
  name: string;
  flags?: string[] | null;
  manifests: Readonly<Record<string, string>>;
  sequence: Step[];
  snapshots: DeviceSnapshot[];
  created: Created[];
  tries?: Try[];
  /** Processors of the machine. Without it, their number does not matter. */
  cpus?: number;
  /** Further requests of Get at the end, with their answers. */
  gets?: { request: PodNames; answer: object }[];
}

/** A request of Get, with the names of the proto. */
interface PodNames {
  pod_name?: string;
  pod_namespace?: string;
}

export interface Step {
  t: number;
  plugin?: string;
  did?: string;
  call?: string;
  request?: Record<string, unknown>;
  answer?: { ok?: boolean; error?: { code: string; message: string } };
  devices?: RecordedDevice[];
  cri?: string;
  event?: string;
  pod?: string;
  container?: string;
  code?: number;
}

export interface RecordedDevice {
  ID?: string;
  health?: string;
  topology?: { nodes?: { ID?: number }[] };
}

export interface Try {
  request: Record<string, string>;
  answer: { ok?: boolean; error?: { code: string; message: string } };
}

export interface DeviceEntry {
  resource_name: string;
  device_ids: string[];
  topology?: { nodes?: { ID?: number }[] };
}

/** The answers to the three requests. */
export interface PodResourcesAnswers {
  List: { pod_resources?: PodEntry[] };
  GetAllocatableResources: { devices?: DeviceEntry[]; cpu_ids?: number[] | string };
  Get: { pod_resources?: PodEntry };
}

export interface PodEntry {
  name: string;
  namespace?: string;
  containers?: { name: string; devices?: DeviceEntry[] }[];
}

export interface DeviceSnapshot {
  t: number;
  label: string;
  podresources: PodResourcesAnswers;
  /** ENOENT: there was none. */
  checkpoint?: RecordedCheckpoint | 'ENOENT';
  pods: Record<string, RecordedPod>;
}

export interface RecordedCheckpoint {
  Data: { PodDeviceEntries: CheckpointEntry[] | null; RegisteredDevices: Record<string, string[]> };
}

export interface CheckpointEntry {
  PodUID: string;
  ContainerName: string;
  ResourceName: string;
  DeviceIDs: Record<string, string[]>;
  AllocResp: string;
  AllocRespDecoded?: Record<string, unknown>;
}

export interface RecordedPod {
  phase?: string;
  reason?: string;
  message?: string;
  containers?: Record<string, Record<string, { reason?: string; message?: string; exitCode?: number }>>;
}

export interface Created {
  pod: string;
  container: string;
  devices?: object[];
  CDI_devices?: object[];
  envs?: { key: string; value?: string }[];
  mounts?: { container_path: string; host_path: string; readonly?: boolean }[];
  annotations?: Record<string, string>;
}
