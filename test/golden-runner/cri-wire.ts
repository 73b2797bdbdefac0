import { resolve } from 'node:path';
import { loadSync } from '@grpc/proto-loader';
import {
  ContainerConfig,
  CreateContainerRequest,
  PodSandboxConfig,
  RunPodSandboxRequest,
} from '../../src/cri/generated/cri.ts';
import type * as cri from '../../src/cri/types.ts';

/** A recorded configuration: member names as in the proto, enums as numbers, defaults left out. */
export interface RecordedConfig {
  envs?: { key: string; value?: string }[];
}

/** The recorded sandbox configuration as the runtime would read it from the wire. */
export function sandboxConfigOf(recorded: RecordedConfig): PodSandboxConfig | undefined {
  return RunPodSandboxRequest.decode(serialize('RunPodSandbox', recorded)).config;
}

/** The recorded container configuration as the runtime would read it from the wire. */
export function containerConfigOf(recorded: RecordedConfig): ContainerConfig | undefined {
  const envs = (recorded.envs ?? []).map(({ key, value = '' }) => ({ key, value: Buffer.from(value) }));
  return CreateContainerRequest.decode(serialize('CreateContainer', { ...recorded, envs })).config;
}

/** A configuration of ours as the runtime would read it from the wire. */
export function sandboxOverWire(config: cri.PodSandboxConfig): PodSandboxConfig {
  return PodSandboxConfig.decode(PodSandboxConfig.encode(PodSandboxConfig.fromPartial(config)).finish());
}

export function containerOverWire(config: cri.ContainerConfig): ContainerConfig {
  return ContainerConfig.decode(ContainerConfig.encode(ContainerConfig.fromPartial(config)).finish());
}

// From the root of the repository, where tests and the runner are started.
const definition = loadSync(resolve('proto/cri.proto'), { keepCase: true });
const service = definition['runtime.v1.RuntimeService'];

function serialize(method: 'RunPodSandbox' | 'CreateContainer', config: object): Buffer {
  const methods = service && !('format' in service) ? service : {};
  const encode = methods[method]?.requestSerialize;
  if (!encode) throw new Error(`The proto has no method ${method}`);
  return encode({ config });
}
