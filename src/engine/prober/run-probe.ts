import type { Probe } from 'kubernetes-types/core/v1.js';
import { type ByKind, byKind, type ProbeHandlers } from '../../api/values/by-kind.ts';
import { expand } from '../../api/values/expand.ts';
import type { Container } from '../../api/types.ts';
import { boundedText } from '../../text/bounded-text.ts';
import type { Clock } from '../../clock.ts';
import { isDeadlineExceeded } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { errorMessage, isLocalConnectFailure, UserError } from '../../errors.ts';
import { textLimits } from '../../text/text-limits.ts';
import { BrokenBody, httpGet } from '../network/http-get.ts';
import { tcpConnect } from '../network/tcp-connect.ts';
import { httpProbeRequest, resolveContainerPort } from '../network/http-action-request.ts';

/** With the kubelet version that kubelet-ts follows. */
const userAgent = 'kube-probe/1.36';
/** Address used for a pod without an address. */
const thisMachine = '127.0.0.1';

/**
 * Resolves with undefined if the service is healthy, otherwise with the reason. Rejects if this machine could not
 * connect.
 */
export type CheckHealth = (check: {
  host: string;
  port: number;
  service: string;
  timeoutMs: number;
  userAgent: string;
}) => Promise<string | undefined>;

export interface ProbeDeps {
  runtime: Pick<RuntimeService, 'execSync'>;
  checkHealth: CheckHealth;
  clock: Clock;
}

export interface ProbeTarget {
  container: Container;
  containerID: string;
  /** On the host network, the address of the node. Empty if the pod has none yet. */
  podIP: string;
  signal: AbortSignal;
}

/** `failure` means that the container failed the probe. A probe that could not run rejects instead. */
export interface ProbeOutcome {
  result: 'success' | 'warning' | 'failure';
  output: string;
}

/** Runs a probe once. kubelet: prober/prober.go runProbe */
export function runProbe(deps: ProbeDeps, probe: Probe, target: ProbeTarget): Promise<ProbeOutcome> {
  const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
  const outcome = byKind(probe, probeKinds, deps, timeoutMs, target);
  return outcome ?? Promise.reject(new UserError(`missing probe handler for container "${target.container.name}"`));
}

/** One row per kind of probe. */
const probeKinds: ByKind<ProbeHandlers, [ProbeDeps, timeoutMs: number, ProbeTarget], Promise<ProbeOutcome>> = {
  exec: execProbe,
  httpGet: httpProbe,
  tcpSocket: tcpProbe,
  grpc: grpcProbe,
};

/** Expands only variables with a value in the manifest. kubelet: ExpandContainerCommandOnlyStatic */
async function execProbe(
  { command = [] }: NonNullable<Probe['exec']>,
  { runtime }: ProbeDeps,
  timeoutMs: number,
  { container, containerID, signal }: ProbeTarget,
): Promise<ProbeOutcome> {
  const values = new Map((container.env ?? []).map(({ name, value = '' }) => [name, value]));
  const cmd = command.map((word) => expand(word, (name) => values.get(name)));
  try {
    const request = { containerId: containerID, cmd, timeout: BigInt(timeoutMs / 1000) };
    const { exitCode, stdout, stderr, leftOutBytes } = await runtime.execSync(request, { signal });
    const whole = Buffer.concat([stdout, stderr]).toString('utf8');
    const output = boundedText(whole, textLimits.execOutput, leftOutBytes);
    return { result: exitCode === 0 ? 'success' : 'failure', output };
  } catch (error) {
    if (isDeadlineExceeded(error)) return { result: 'failure', output: errorMessage(error) };
    throw error;
  }
}

async function httpProbe(
  action: NonNullable<Probe['httpGet']>,
  { clock }: ProbeDeps,
  timeoutMs: number,
  { container, podIP, signal }: ProbeTarget,
): Promise<ProbeOutcome> {
  const request = httpProbeRequest(action, container, { podIP, userAgent });
  try {
    const { statusCode, body } = await httpGet(request, { timeoutMs, clock, signal });
    if (statusCode >= 200 && statusCode < 300) return { result: 'success', output: body };
    if (statusCode >= 300 && statusCode < 400) {
      return { result: 'warning', output: 'Probe terminated redirects, Response body: ' + body };
    }
    return { result: 'failure', output: `HTTP probe failed with statuscode: ${statusCode}` };
  } catch (error) {
    // A response without its complete body has no result, whatever its status.
    if (error instanceof BrokenBody) throw error;
    return failureOf(error, signal);
  }
}

async function tcpProbe(
  { host, port }: NonNullable<Probe['tcpSocket']>,
  { clock }: ProbeDeps,
  timeoutMs: number,
  { container, podIP, signal }: ProbeTarget,
): Promise<ProbeOutcome> {
  const number = resolveContainerPort(port, container);
  try {
    await tcpConnect({ host: hostOf(host, podIP), port: number }, { timeoutMs, clock, signal });
    return { result: 'success', output: '' };
  } catch (error) {
    return failureOf(error, signal);
  }
}

async function grpcProbe(
  { port, service = '' }: NonNullable<Probe['grpc']>,
  { checkHealth }: ProbeDeps,
  timeoutMs: number,
  { podIP }: ProbeTarget,
): Promise<ProbeOutcome> {
  const failure = await checkHealth({ host: hostOf(undefined, podIP), port, service, timeoutMs, userAgent });
  return failure === undefined ? { result: 'success', output: '' } : { result: 'failure', output: failure };
}

function hostOf(host: string | undefined, podIP: string): string {
  if (host !== undefined && host !== '') return host;
  return podIP === '' ? thisMachine : podIP;
}

/** A missing response is a failure of the container, unless this machine could not connect. */
function failureOf(error: unknown, signal: AbortSignal): ProbeOutcome {
  signal.throwIfAborted();
  if (isLocalConnectFailure(error)) throw error;
  return { result: 'failure', output: errorMessage(error) };
}
