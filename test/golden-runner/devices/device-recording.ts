/** A recorded scenario of device plugins; test/golden/devices/README.md says what each member means. */
export interface DeviceRecording {
  name: string;
  flags?: string[] | null;
  manifests: Readonly<Record<string, string>>;
  sequence: Step[];
  snapshots: DeviceSnapshot[];
  created: Created[];
  tries?: Try[];
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

interface RecordedDevice {
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

export interface DeviceSnapshot {
  t: number;
  label: string;
  podresources: {
    List: { pod_resources?: { name: string; containers?: { name: string; devices?: DeviceEntry[] }[] }[] };
    GetAllocatableResources: { devices?: DeviceEntry[] };
    Get: object;
  };
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
