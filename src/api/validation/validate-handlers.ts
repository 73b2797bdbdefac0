import type * as core from 'kubernetes-types/core/v1.js';
import { type ByKind, byKind, type HookHandlers, type ProbeHandlers } from '../values/by-kind.ts';
import type { FieldErrors } from '../values/field-errors.ts';
import { checkHTTPHeaderName, checkPortName, checkPortNumber } from '../values/names.ts';

/** Probes and hooks of a regular container or a sidecar. kubelet: validation.go validateProbe, validateLifecycle */
export function validateProbesAndHooks(
  errors: FieldErrors,
  field: string,
  container: core.Container,
  { graceSeconds, osName }: { graceSeconds: number; osName: string | undefined },
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
  validateStopSignal(errors, `${field}.lifecycle.stopSignal`, container.lifecycle?.stopSignal, osName);
}

const numbered = (name: string, last: number): string[] => Array.from({ length: last }, (_, at) => `${name}${at + 1}`);

const stopSignals: Readonly<Record<string, readonly string[]>> = {
  linux: [
    ...'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS'.split(
      ' ',
    ),
    ...'TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX'.split(' '),
    ...numbered('RTMIN+', 15),
    ...numbered('RTMAX-', 14),
  ].map((name) => `SIG${name}`),
  windows: ['SIGKILL', 'SIGTERM'],
};

/** kubelet: validation.go validateStopSignal */
function validateStopSignal(
  errors: FieldErrors,
  field: string,
  signal: string | undefined,
  osName: string | undefined,
): void {
  if (signal === undefined) return;
  if (osName === undefined) errors.forbidden(field, 'needs spec.os.name');
  else errors.unsupportedUnless(field, signal, stopSignals[osName] ?? []);
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

type Handler = HookHandlers & ProbeHandlers;

/** Checks the first handler; every other one is an error. kubelet: validation.go validateHandler */
function validateHandler(errors: FieldErrors, field: string, handler: Handler, graceSeconds: number): void {
  const [first, ...others] = Object.keys(handlerRules).filter((kind) => handler[kind as keyof Handler]);
  if (first === undefined) errors.required(field, 'must have a handler');
  byKind(handler, handlerRules, errors, `${field}.${first ?? ''}`, graceSeconds);
  for (const kind of others) errors.forbidden(`${field}.${kind}`, 'may not specify more than one handler');
}

/** One row per kind of probe or hook. */
const handlerRules: ByKind<Handler, [FieldErrors, field: string, graceSeconds: number], void> = {
  exec: ({ command = [] }, errors, field) => {
    if (command.length === 0) errors.required(`${field}.command`);
  },
  httpGet: validateHttpGet,
  tcpSocket: ({ port }, errors, field) => {
    validatePort(errors, `${field}.port`, port);
  },
  grpc: ({ port }, errors, field) => {
    validatePort(errors, `${field}.port`, port);
  },
  sleep: ({ seconds }, errors, field, graceSeconds) => {
    if (seconds >= 0 && seconds <= graceSeconds) return;
    errors.invalid(field, seconds, `must be between 0 and ${graceSeconds}, the grace period`);
  },
};

function validateHttpGet(httpGet: core.HTTPGetAction, errors: FieldErrors, field: string): void {
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
