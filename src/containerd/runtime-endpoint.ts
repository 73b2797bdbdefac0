import { UserError } from '../errors.ts';
import { managedPaths } from './managed-paths.ts';
import type { ProbeResult } from './probe-endpoint.ts';

export interface RuntimeEndpointOptions {
  /** Value of --container-runtime-endpoint, or of the setting that `flagName` names. */
  readonly flag?: string | undefined;
  /** The setting that named it, if not the flag. */
  readonly flagName?: EndpointName | undefined;
  /** Value of $CONTAINER_RUNTIME_ENDPOINT. */
  readonly env?: string | undefined;
  /** The endpoint that the agent uses, or that the last one used. */
  readonly ofAgent?: string | undefined;
  readonly rootDir: string;
  /** True if an earlier run created a managed containerd under the root-dir (`hasManagedContainerd`). */
  readonly recorded: boolean;
  readonly probe: (endpoint: string) => Promise<ProbeResult>;
  /** Returns why a runtime that answers cannot run pods. Undefined if it can, or if it already has pods of ours. */
  readonly unreadyBecause: (endpoint: string) => Promise<string | undefined>;
  /** Probes an endpoint that the user named, or one whose runtime does not answer. It may wait. */
  readonly probeNamed?: (endpoint: string) => Promise<ProbeResult>;
}

/** The settings that can name an endpoint. */
export type EndpointName =
  '--container-runtime-endpoint' | 'containerRuntimeEndpoint in the configuration' | '$CONTAINER_RUNTIME_ENDPOINT';

/** The runtime to use. `because` is a sentence for the user. If `managed`, the caller starts it. */
export interface RuntimeEndpoint {
  readonly endpoint: string;
  readonly managed: boolean;
  /** True if the user named it. */
  readonly named: boolean;
  readonly because: string;
}

/** Default sockets of runtimes, in the order in which they are tried. */
const wellKnownEndpoints: readonly string[] = [
  'unix:///run/containerd/containerd.sock',
  'unix:///run/crio/crio.sock',
  'unix:///var/run/cri-dockerd.sock',
  'unix:///run/k3s/containerd/containerd.sock',
];

/**
 * Chooses the container runtime, in this order: the flag, the environment, the agent's runtime, the managed containerd
 * that already runs our pods, the first well-known socket whose runtime is ready for pods or has pods of ours, a
 * managed containerd. An endpoint named by the user must answer. So must a well-known socket that something listens on:
 * it may be busy, and a second runtime would run its pods twice.
 */
export async function chooseRuntimeEndpoint(options: RuntimeEndpointOptions): Promise<RuntimeEndpoint> {
  const {
    flag,
    flagName = '--container-runtime-endpoint',
    env,
    ofAgent,
    recorded,
    probe,
    probeNamed = probe,
    unreadyBecause,
  } = options;
  const managedEndpoint = managedPaths(options.rootDir).endpoint;
  if (flag !== undefined && flag !== '') return named(flag, flagName, probeNamed);
  if (env !== undefined && env !== '') return named(env, '$CONTAINER_RUNTIME_ENDPOINT', probeNamed);
  if (ofAgent !== undefined && ofAgent !== managedEndpoint) {
    const result = await probe(ofAgent);
    if (result.kind !== 'answers') throw failureOf(ofAgent, result, startItOrName);
    const because = `${runtimeName(result)} is the runtime of the agent.`;
    return { endpoint: ofAgent, managed: false, named: false, because };
  }
  if (recorded) {
    return {
      endpoint: managedEndpoint,
      managed: true,
      named: false,
      because: 'The managed containerd of this root-dir has our pods and images.',
    };
  }
  const passedOver: string[] = [];
  for (const endpoint of wellKnownEndpoints) {
    const first = await probe(endpoint);
    const result = first.kind === 'failed' ? await probeNamed(endpoint) : first;
    switch (result.kind) {
      case 'answers': {
        const unready = await unreadyBecause(endpoint);
        if (unready === undefined)
          return { endpoint, managed: false, named: false, because: `${runtimeName(result)} answers on ${endpoint}.` };
        passedOver.push(`${runtimeName(result)} on ${endpoint} is not ready for pods (${unready})`);
        break;
      }
      case 'denied':
      case 'failed':
        // A user who has no permission for the machine's runtime may not start one either.
        throw failureOf(endpoint, result);
      case 'absent':
        break;
      case 'refused':
      case 'no-cri':
        passedOver.push(`${endpoint} ${shortReason(result)}`);
    }
  }
  const reason =
    passedOver.length === 0 ? 'no container runtime answers on a well-known socket' : passedOver.join('; ');
  const because = `kubelet-ts runs a containerd of its own: ${reason}.`;
  return { endpoint: managedEndpoint, managed: true, named: false, because };
}

const startIt = 'Start the runtime.';
const startItOrName = `${startIt} If it is gone for good, name another by --container-runtime-endpoint.`;

/** The hint if nothing listens at an endpoint that the user named. */
const startItOrLeaveOut = (name: EndpointName): string =>
  `${startIt} Or leave out ${name}: kubelet-ts then finds a runtime, or runs its own containerd.`;

/** Returns the error for an endpoint that the user named, with a hint. */
export function failureOfNamed(endpoint: string, result: Failure, name: EndpointName): UserError {
  return failureOf(endpoint, result, startItOrLeaveOut(name));
}

/** `ifAway` is the hint if nothing listens there. */
function failureOf(endpoint: string, result: Failure, ifAway = startIt): UserError {
  const message = `The container runtime endpoint ${endpoint} ${shortReason(result)}`;
  const cause = 'error' in result ? result.error : undefined;
  return new UserError(message, { hint: hintOf(result, ifAway), cause });
}

/** Returns `unix:///path` for a `unix://` URL or a bare path. */
export function normalizeEndpoint(endpoint: string): string {
  const path = endpoint.startsWith('unix:') ? endpoint.slice('unix:'.length).replace(/^\/\/(?=\/)/, '') : endpoint;
  if (path.startsWith('/')) return `unix://${path}`;
  throw new UserError(`The container runtime endpoint ${JSON.stringify(endpoint)} is not a unix socket`, {
    hint: 'Write it as unix:///run/containerd/containerd.sock.',
  });
}

async function named(
  value: string,
  name: EndpointName,
  probe: RuntimeEndpointOptions['probe'],
): Promise<RuntimeEndpoint> {
  const endpoint = normalizeEndpoint(value);
  const result = await probe(endpoint);
  if (result.kind !== 'answers') throw failureOfNamed(endpoint, result, name);
  const because = `${runtimeName(result)} on ${endpoint}, as ${name} says.`;
  return { endpoint, managed: false, named: true, because };
}

type Answer = Extract<ProbeResult, { kind: 'answers' }>;
type Failure = Exclude<ProbeResult, Answer>;

function runtimeName({ runtimeName: name, runtimeVersion }: Answer): string {
  return `${name} ${runtimeVersion}`.trim();
}

function shortReason(result: Failure): string {
  switch (result.kind) {
    case 'absent':
      return 'does not exist';
    case 'refused':
      return 'has no listener';
    case 'denied':
      return 'is not accessible to this user: root is needed';
    case 'no-cri':
      return 'answers but has no CRI v1 (is its CRI plugin disabled?)';
    case 'failed':
      return `does not answer a CRI Version call: ${result.reason}`;
  }
}

function hintOf(result: Failure, ifAway: string): string {
  switch (result.kind) {
    case 'absent':
    case 'refused':
      return ifAway;
    case 'denied':
      return 'Run it as root: sudo kubelet-ts …';
    case 'no-cri':
      return 'For containerd, take "cri" out of disabled_plugins in /etc/containerd/config.toml and restart it.';
    case 'failed':
      return 'Check the log of the runtime.';
  }
}
