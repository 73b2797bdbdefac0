import { withoutDisabledFields } from '../../api/values/disabled-fields.ts';
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { configAnnotations } from '../../api/values/config-annotations.ts';
import type { ConfigObject } from '../../api/values/config-object.ts';
import { isUnavailable } from '../../cri/errors.ts';
import { ConfigObjects } from '../../engine/config-objects/config-objects.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';
import type { CgroupDriver } from '../../engine/container-manager/cgroup-names.ts';
import { readCgroupDriver } from '../../engine/container-manager/read-cgroup-driver.ts';
import { readMachine } from '../../engine/container-manager/machine.ts';
import { UserError } from '../../errors.ts';
import type { Connect } from '../runtime-connection.ts';
import { withRuntime } from '../with-runtime.ts';
import { readHostNetwork } from '../detect-node-ips.ts';
import { computeNodeIPs } from '../node-addresses.ts';
import { nodeConfig } from '../node-config.ts';
import type { NodeOptions } from '../options/node-options.ts';
import { findUserNamespaceIDs } from '../user-namespace-ids.ts';
import { type PodPreview, previewPod } from './preview-pod.ts';

/** The CRI requests for the pods of manifests on this node, as plain JSON. Contains no value of a Secret. */
export async function previewManifests(
  { source, pods, configObjects = [] }: SourceUpdate,
  options: NodeOptions,
  connect: Connect,
): Promise<object[]> {
  const machine = await readMachine(existing(options.rootDir));
  const { ips } = computeNodeIPs(options.nodeIPs, readHostNetwork(), []);
  const node = nodeConfig(options, machine, {
    cgroupDriver: await cgroupDriver(options, connect),
    nodeIPs: () => ips,
    userNamespaceIDs: await findUserNamespaceIDs(options),
  });
  const objects = new ConfigObjects();
  objects.replace('manifests', configObjects.map(withoutSecrets));
  const previews = await Promise.all(
    pods.map(({ metadata, ...pod }) => {
      const annotations = {
        ...metadata.annotations,
        [configAnnotations.source]: source,
        [configAnnotations.seen]: '<when it is read first>',
      };
      const enabled = withoutDisabledFields(pod, node.featureGates);
      return previewPod({ ...enabled, metadata: { ...metadata, annotations } }, { node, configObjects: objects });
    }),
  );
  return previews.map(printed);
}

function printed({ pod, requests, files }: PodPreview): object {
  const printedRequests = requests.map(({ request, ...rest }) => ({
    ...rest,
    ...(request && { request: printableRequest(request) }),
  }));
  return { pod, requests: printedRequests, files };
}

/** Replaces the values of a Secret with placeholders, which then also appear in commands. */
function withoutSecrets(object: ConfigObject): ConfigObject {
  if (object.kind !== 'Secret') return object;
  const data = [...object.data.keys()].map((key) => [key, Buffer.from(`<${key} of Secret ${object.name}>`)] as const);
  return { ...object, data: new Map(data) };
}

/** The cgroup driver of the runtime if it answers, else the configured one. */
async function cgroupDriver(options: NodeOptions, connect: Connect): Promise<CgroupDriver> {
  try {
    return await withRuntime(connect(options), ({ runtime }) => readCgroupDriver(runtime, options.cgroupDriver));
  } catch (error) {
    if (!(error instanceof UserError) && !isUnavailable(error)) throw error;
    return options.cgroupDriver;
  }
}

/** The path, or its nearest existing parent, because the root-dir may not exist yet. */
function existing(path: string): string {
  return statSync(path, { throwIfNoEntry: false }) ? path : existing(dirname(path));
}

/**
 * A CRI message as plain JSON: bytes as text, 64-bit numbers as numbers, without empty members. Keeps zero numbers and
 * false, because in a wrapped value they have a meaning.
 */
export function printableRequest(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (Array.isArray(value)) return value.map(printableRequest);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, printableRequest(member)] as const)
      .filter(([, member]) => !isEmpty(member)),
  );
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === '';
}
