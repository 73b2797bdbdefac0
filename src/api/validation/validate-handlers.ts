import type * as core from 'kubernetes-types/core/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';
import { checkHTTPHeaderName, checkPortName, checkPortNumber } from '../values/names.ts';

/** Probes and hooks of a regular container or a sidecar. kubelet: validation.go validateProbe, validateLifecycle */
export function validateProbesAndHooks(
  errors: FieldErrors,
  field: string,
  container: core.Container,
  graceSeconds: number,
): void {
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    const probe = container[name];
    if (!probe) continue;
    validateProbe(errors, `${field}.${name}`, probe, graceSeconds);
    if (name !== 'readinessProbe' && probe.successThreshold !== 1) {
      errors.invalid(`${field}.${name}.successThreshold`, probe.successThreshold, 'must be 1');
    }
    if (name === 'readinessProbe' && probe.terminationGracePeriodSeconds !== undefined) {
      errors.invalid(
        `${field}.${name}.terminationGracePeriodSeconds`,
        probe.terminationGracePeriodSeconds,
        'cannot be set for a readiness probe',
      );
    }
  }
  for (const name of ['postStart', 'preStop'] as const) {
    const hook = container.lifecycle?.[name];
    if (hook) validateHandler(errors, `${field}.lifecycle.${name}`, hook, graceSeconds);
  }
}

const counts = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const;

function validateProbe(errors: FieldErrors, field: string, probe: core.Probe, graceSeconds: number): void {
  validateHandler(errors, field, probe, graceSeconds);
  for (const name of counts) {
    if ((probe[name] ?? 0) < 0) errors.invalid(`${field}.${name}`, probe[name], 'must not be negative');
  }
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0) {
    errors.invalid(`${field}.terminationGracePeriodSeconds`, grace, 'must be greater than 0');
  }
}

type Handler = core.LifecycleHandler & Pick<core.Probe, 'grpc'>;

/** Checks the first handler; every further one is an error. kubelet: validation.go validateHandler */
function validateHandler(errors: FieldErrors, field: string, handler: Handler, graceSeconds: number): void {
  const { exec, grpc, httpGet, sleep, tcpSocket } = handler;
  const checks: [string, (() => void) | undefined][] = [
    [
      'exec',
      exec &&
        (() => {
          if (!exec.command?.length) errors.required(`${field}.exec.command`);
        }),
    ],
    [
      'httpGet',
      httpGet &&
        (() => {
          validateHttpGet(errors, `${field}.httpGet`, httpGet);
        }),
    ],
    [
      'tcpSocket',
      tcpSocket &&
        (() => {
          validatePort(errors, `${field}.tcpSocket.port`, tcpSocket.port);
        }),
    ],
    [
      'grpc',
      grpc &&
        (() => {
          validatePort(errors, `${field}.grpc.port`, grpc.port);
        }),
    ],
    [
      'sleep',
      sleep &&
        (() => {
          if (sleep.seconds < 1 || sleep.seconds > graceSeconds) {
            errors.invalid(`${field}.sleep`, sleep.seconds, `must be between 1 and ${graceSeconds}, the grace period`);
          }
        }),
    ],
  ];
  const present = checks.filter(([, check]) => check);
  if (present.length === 0) errors.required(field, 'must have a handler');
  present[0]?.[1]?.();
  for (const [name] of present.slice(1)) errors.forbidden(`${field}.${name}`, 'may not specify more than one handler');
}

function validateHttpGet(errors: FieldErrors, field: string, httpGet: core.HTTPGetAction): void {
  if (!httpGet.path) errors.required(`${field}.path`);
  validatePort(errors, `${field}.port`, httpGet.port);
  errors.unsupportedUnless(`${field}.scheme`, httpGet.scheme ?? '', ['HTTP', 'HTTPS']);
  for (const { name } of httpGet.httpHeaders ?? []) {
    errors.invalidIf(`${field}.httpHeaders`, name, checkHTTPHeaderName(name));
  }
}

function validatePort(errors: FieldErrors, field: string, port: number | string): void {
  errors.invalidIf(field, port, typeof port === 'number' ? checkPortNumber(port) : checkPortName(port));
}
