import type { LifecycleHandler } from 'kubernetes-types/core/v1.js';
import type { Container } from '../../api/types.ts';
import { type ByKind, byKind, type HookHandlers } from '../../api/values/by-kind.ts';
import { boundedText } from '../../text/bounded-text.ts';
import type { Clock } from '../../clock.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { hasCode, UserError } from '../../errors.ts';
import { textLimits } from '../../text/text-limits.ts';
import type { Meter } from '../view/meter.ts';
import { BrokenBody, httpGet } from '../network/http-get.ts';
import { type HTTPProbeRequest, httpProbeRequest } from '../network/http-action-request.ts';

/** With the kubelet version that kubelet-ts follows. */
const userAgent = 'kube-lifecycle/1.36';

export interface HookDeps {
  runtime: RuntimeService;
  clock: Clock;
  meter?: Pick<Meter, 'count'> | undefined;
}

interface HookTarget {
  container: Container;
  containerID: string;
  /** Addresses of the pod. Empty on the host network. */
  podIPs: readonly string[];
  /** Aborts the hook. */
  signal: AbortSignal;
}

/**
 * Runs a lifecycle hook without a time limit. Rejects with the reason if it fails. kubelet: lifecycle/handlers.go Run
 */
export async function runHook(deps: HookDeps, hook: LifecycleHandler, target: HookTarget): Promise<void> {
  await (byKind(hook, hookKinds, deps, target) ?? invalidHook(target));
}

/** One row per kind of hook. */
const hookKinds: ByKind<HookHandlers, [HookDeps, HookTarget], Promise<void>> = {
  exec: execHook,
  httpGet: (action, deps, { container, podIPs, signal }) =>
    httpHook(httpProbeRequest(action, container, { podIP: podIPs[0] ?? '', userAgent }), deps, signal),
  sleep: ({ seconds }, { clock, meter }, { signal }) =>
    clock.sleep(seconds * 1000, { signal }).catch((error: unknown) => {
      meter?.count('kubelet_sleep_action_terminated_early_total', {});
      throw error;
    }),
  tcpSocket: (_action, _deps, target) => invalidHook(target),
};

function invalidHook({ container }: HookTarget): Promise<never> {
  return Promise.reject(
    new UserError(`invalid handler: the hook of container "${container.name}" is neither exec, httpGet nor sleep`),
  );
}

async function execHook(
  { command: cmd = [] }: NonNullable<LifecycleHandler['exec']>,
  { runtime }: HookDeps,
  { containerID, signal }: HookTarget,
): Promise<void> {
  const { exitCode, stdout, stderr, leftOutBytes } = await runtime.execSync(
    { containerId: containerID, cmd: [...cmd] },
    { signal },
  );
  if (exitCode === 0) return;
  const output = Buffer.concat([stdout, stderr]).toString('utf8').trim();
  const shown = boundedText(output, textLimits.hookOutput, leftOutBytes);
  throw new UserError(`the command exited with ${exitCode}${shown === '' ? '' : `: ${shown}`}`);
}

/** Accepts every response. If an HTTP server answers an HTTPS request, repeats it over HTTP without credentials. */
async function httpHook(request: HTTPProbeRequest, { clock, meter }: HookDeps, signal: AbortSignal): Promise<void> {
  try {
    await requestOnce(request, { clock, signal });
  } catch (error) {
    if (!request.url.startsWith('https:') || !isPlainText(error)) throw error;
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name !== 'Authorization'));
    await requestOnce({ ...request, url: request.url.replace(/^https:/, 'http:'), headers }, { clock, signal });
    meter?.count('kubelet_lifecycle_handler_http_fallbacks_total', {});
  }
}

/** Ignores errors in the response body. kubelet: lifecycle/handlers.go discardHTTPRespBody */
async function requestOnce(...request: Parameters<typeof httpGet>): Promise<void> {
  await httpGet(...request).catch((error: unknown) => {
    if (!(error instanceof BrokenBody)) throw error;
  });
}

/** True if the server did not answer the TLS handshake with TLS. */
const isPlainText = (error: unknown): boolean =>
  error instanceof Error && hasCode(error.cause, 'ERR_SSL_WRONG_VERSION_NUMBER', 'EPROTO');
