import { findContainerd, type InstalledContainerd } from '../../containerd/find-containerd.ts';
import { probeEndpoint } from '../../containerd/probe-endpoint.ts';
import { readStoreDamage } from '../../containerd/store-damage.ts';
import { openChannel } from '../../cri/grpc-channel.ts';
import { grpcImageService } from '../../cri/grpc-image-service.ts';
import { grpcRuntimeService } from '../../cri/grpc-runtime-service.ts';
import { configValue } from '../../cri/status-info.ts';
import { podNetworkCommands } from '../../cri/pod-network-commands.ts';
import { reportedCgroupDriver } from '../../engine/container-manager/read-cgroup-driver.ts';
import { pathExists } from '../../files/path-exists.ts';
import { errorMessage, UserError } from '../../errors.ts';
import { isDenied } from '../../process/needs-root.ts';
import { openOwnRuntime } from '../runtime-connection.ts';
import { findRuntimeEndpoint } from '../find-runtime.ts';
import type { Fact } from './checks/finding.ts';
import type { Programs, RuntimeAnswer, RuntimeFacts, Trouble } from './checks/facts.ts';

interface Request {
  rootDir: string;
  /** Empty if the user named none. */
  containerRuntimeEndpoint: string;
}

/** Rejects if this user has no permission. */
export async function readRuntime({ rootDir, containerRuntimeEndpoint }: Request): Promise<RuntimeFacts> {
  let chosen;
  try {
    chosen = await findRuntimeEndpoint({ rootDir, flag: containerRuntimeEndpoint || undefined });
  } catch (error) {
    if (isDenied(error)) throw error;
    return { kind: 'none', trouble: troubleOf(error) };
  }
  const { endpoint, managed, because } = chosen;
  const [programs, ownAnswer] = await Promise.all([
    managed ? findContainerd().then(programsOf, troubleOf) : undefined,
    readAnswer(endpoint),
  ]);
  const isSilent = ownAnswer === undefined || 'message' in ownAnswer;
  const damage = managed && isSilent ? await readStoreDamage(rootDir) : undefined;
  const answer = damage === undefined ? ownAnswer : troubleOf(damage);
  return { kind: 'chosen', endpoint, managed, because, ...(programs && { programs }), ...(answer && { answer }) };
}

function programsOf({ containerd, version, ociRuntime }: InstalledContainerd): Programs {
  return { containerd, version: version.text, ociRuntime };
}

/** Returns undefined if nothing listens. */
async function readAnswer(endpoint: string): Promise<RuntimeAnswer | Trouble | undefined> {
  const probed = await probeEndpoint(endpoint);
  switch (probed.kind) {
    case 'absent':
    case 'refused':
      return undefined;
    case 'denied':
      throw probed.error;
    case 'no-cri':
    case 'failed':
      return { message: `${endpoint} does not answer a CRI call: ${errorMessage(probed.error)}` };
    case 'answers':
      return queryRuntime(endpoint, probed).catch(troubleOf);
  }
}

async function queryRuntime(
  endpoint: string,
  { runtimeName, runtimeVersion }: { runtimeName: string; runtimeVersion: string },
): Promise<RuntimeAnswer> {
  const channel = openChannel(endpoint);
  try {
    const runtime = grpcRuntimeService(channel, queryMs);
    const [{ status, info, runtimeHandlers }, driver, hasSystemd] = await Promise.all([
      runtime.status({ verbose: true }),
      reportedCgroupDriver(runtime),
      pathExists('/run/systemd/system'),
    ]);
    return {
      name: runtimeName,
      version: runtimeVersion,
      conditions: status?.conditions ?? [],
      networkCommands: podNetworkCommands(info),
      ...(driver !== undefined && { cgroupDriver: driver }),
      ...handlersIn(runtimeHandlers, info),
      hasSystemd,
    };
  } finally {
    channel.close();
  }
}

/** containerd reports them since 2.0, and its configuration before that. */
function handlersIn(
  reported: readonly { name: string }[],
  info: Readonly<Record<string, string>>,
): Pick<RuntimeAnswer, 'handlers'> {
  const configured = configValue(info, ['containerd', 'runtimes']);
  const names = reported.length > 0 ? reported.map(({ name }) => name) : Object.keys(Object(configured) as object);
  return names.length === 0 ? {} : { handlers: names };
}

/** Number of running pods of this root-dir. Returns undefined if the runtime does not answer. */
export async function readRunningPods(rootDir: string, runtime: Fact<RuntimeFacts>): Promise<number | undefined> {
  if (!('value' in runtime) || runtime.value.kind === 'none') return undefined;
  const { answer, endpoint } = runtime.value;
  if (answer === undefined || 'message' in answer) return undefined;
  const place = { rootDir, makesPods: false, signal: AbortSignal.timeout(queryMs) };
  const connection = await openOwnRuntime(endpoint, place, { runtimeRequestTimeout: queryMs });
  try {
    return (await connection.runtime.listPodSandbox({ filter: { state: { state: 'SANDBOX_READY' } } })).items.length;
  } catch {
    // The runtime check reports it.
    return undefined;
  } finally {
    connection.close();
  }
}

/** Deadline of a call in milliseconds. */
const queryMs = 5000;

/** The folders in which the runtime keeps images. Rejects if it does not answer. */
export async function readImageFolders(endpoint: string): Promise<string[]> {
  const channel = openChannel(endpoint);
  try {
    const { imageFilesystems } = await grpcImageService(channel, queryMs).imageFsInfo({});
    return imageFilesystems.flatMap(({ fsId }) => fsId?.mountpoint ?? []);
  } finally {
    channel.close();
  }
}

function troubleOf(error: unknown): Trouble {
  const hint = error instanceof UserError ? error.hint : undefined;
  return { message: errorMessage(error), ...(hint !== undefined && { hint }) };
}
