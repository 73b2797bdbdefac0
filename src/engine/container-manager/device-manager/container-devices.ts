import type { ContainerAllocateResponse } from '../../../plugins/types.ts';

/** Additions of device plugins to a container's configuration. */
export interface ContainerDevices {
  envs: { name: string; value: string }[];
  mounts: { containerPath: string; hostPath: string; readonly: boolean }[];
  devices: { containerPath: string; hostPath: string; permissions: string }[];
  annotations: Record<string, string>;
  /** Names of CDI devices. */
  cdiDevices: string[];
}

/**
 * Merges the additions of several plugins. If two set the same variable, path or name, the first wins. kubelet:
 * devicemanager/pod_devices.go deviceRunContainerOptions
 */
export function mergeResponses(responses: readonly ContainerAllocateResponse[]): ContainerDevices {
  const byFirst = <T>(all: readonly T[], keyOf: (one: T) => string): T[] =>
    [...new Map([...all].reverse().map((one) => [keyOf(one), one])).values()].reverse();
  const entries = (of: 'envs' | 'annotations'): [string, string][] =>
    byFirst(
      responses.flatMap((response) => Object.entries(response[of])),
      ([key]) => key,
    );
  return {
    envs: entries('envs').map(([name, value]) => ({ name, value })),
    mounts: byFirst(
      responses.flatMap(({ mounts }) => mounts),
      ({ containerPath }) => containerPath,
    ).map(({ containerPath, hostPath, readOnly }) => ({ containerPath, hostPath, readonly: readOnly })),
    devices: byFirst(
      responses.flatMap(({ devices }) => devices),
      ({ containerPath }) => containerPath,
    ),
    annotations: Object.fromEntries(entries('annotations')),
    cdiDevices: [...new Set(responses.flatMap(({ cdiDevices }) => cdiDevices.map(({ name }) => name)))],
  };
}
