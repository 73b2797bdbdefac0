import { formatDurationMs } from '../values/duration.ts';
import { evictionPolicies } from '../values/eviction-policy.ts';
import { parseImageName } from '../values/image-name.ts';
import { previousKubernetesVersion } from '../values/kubernetes-version.ts';
import { isAllowlistEntry, verificationPolicies } from '../values/pull-verification.ts';
import { quantityAsInt64 } from '../values/quantity.ts';
import { checkIP, checkLabelValue, checkQualifiedName, hasControlCharacter } from '../values/names.ts';
import { type ConfigurationError, ConfigurationErrors } from './configuration-errors.ts';
import type { FeatureGates } from '../values/feature-gates.ts';
import type { KubeletConfiguration } from './types.ts';
import { validateRuntimeClasses } from './runtime-classes.ts';
import { validateReservations } from './validate-reservations.ts';
import {
  evictionSignals,
  isEvictionSignal,
  parseGracePeriodMs,
  parseMinimumReclaim,
  parseThresholdValue,
} from '../values/eviction-thresholds.ts';

const knownSignals = `Known are ${evictionSignals.join(', ')}.`;

/**
 * Returns every rule that a complete configuration breaks. Checks that depend on the host are done elsewhere.
 *
 * kubelet: apis/config/validation/validation.go ValidateKubeletConfiguration, and further checks at its start-up
 */
export function validateKubeletConfiguration(kc: KubeletConfiguration, gates: FeatureGates): ConfigurationError[] {
  const errors = new ConfigurationErrors();
  validateRanges(errors, kc);
  validateWords(errors, kc, gates);
  validateImages(errors, kc, gates);
  validateDurations(errors, kc, gates);
  validateShutdown(errors, kc, gates);
  validateReservations(errors, kc);
  validateEviction(errors, kc);
  validatePodLogsDir(errors, kc.podLogsDir);
  for (const name of ['address', 'healthzBindAddress'] as const) {
    if (checkIP(kc[name]) !== undefined) errors.add(name, `"${kc[name]}" must be an IP address`);
  }
  validateContainerLogMaxSize(errors, kc.containerLogMaxSize);
  validateLogging(errors, kc, gates);
  validateServer(errors, kc, gates);
  validateTaints(errors, kc);
  validateUserNamespaces(errors, kc);
  validateRuntimeClasses(errors, kc);
  for (const [name, value] of Object.entries(kc)) validateStrings(errors, name, value);
  if (kc.runOnce) errors.add('runOnce', 'was removed from the kubelet', 'Use kubelet-ts run-once.');
  return errors.list;
}

/** Refuses control characters, because strings become paths, lines of resolver files and args of programs. */
function validateStrings(errors: ConfigurationErrors, name: string, value: unknown): void {
  if (typeof value === 'string') {
    if (hasControlCharacter(value)) errors.add(name, `${JSON.stringify(value)} must not contain control characters`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) validateStrings(errors, `${name}.${key}`, member);
  }
}

const none = Infinity;
const maxPort = 65535;

/** Smallest and largest allowed values. */
const ranges = {
  containerLogMaxFiles: [2, none],
  containerLogMaxWorkers: [1, none],
  eventBurst: [0, none],
  eventRecordQPS: [0, none],
  healthzPort: [0, maxPort],
  imageGCHighThresholdPercent: [0, 100],
  imageGCLowThresholdPercent: [0, 100],
  iptablesDropBit: [0, 31],
  iptablesMasqueradeBit: [0, 31],
  kubeAPIBurst: [0, none],
  kubeAPIQPS: [0, none],
  maxOpenFiles: [0, none],
  maxParallelImagePulls: [1, none],
  maxPods: [0, none],
  nodeLeaseDurationSeconds: [1, none],
  nodeStatusMaxImages: [-1, none],
  oomScoreAdj: [-1000, 1000],
  podsPerCore: [0, none],
  port: [1, maxPort],
  readOnlyPort: [0, maxPort],
  registryBurst: [0, none],
  registryPullQPS: [0, none],
} as const satisfies Partial<Record<keyof KubeletConfiguration, readonly [number, number]>>;

function validateRanges(errors: ConfigurationErrors, kc: KubeletConfiguration): void {
  for (const [name, [min, max]] of Object.entries(ranges)) {
    const value = kc[name as keyof typeof ranges];
    if (value === undefined || (value >= min && value <= max)) continue;
    errors.add(name, `${value} must be ${max === none ? `at least ${min}` : `between ${min} and ${max}, inclusive`}`);
  }
  const { memoryThrottlingFactor: factor } = kc;
  if (factor <= 0 || factor > 1) errors.add('memoryThrottlingFactor', `${factor} must be greater than 0 and at most 1`);
  const { samplingRatePerMillion: rate = 0 } = kc.tracing ?? {};
  if (rate < 0 || rate > 1_000_000) {
    errors.add('tracing.samplingRatePerMillion', `${rate} must be between 0 and 1000000, inclusive`);
  }
}

/** The allowed words of each field. */
const allowedValues = {
  cgroupDriver: ['cgroupfs', 'systemd'],
  configMapAndSecretChangeDetectionStrategy: ['Get', 'Cache', 'Watch'],
  evictionPolicy: evictionPolicies,
  memoryReservationPolicy: ['None', 'TieredReservation'],
  hairpinMode: ['none', 'hairpin-veth', 'promiscuous-bridge'],
  topologyManagerPolicy: ['none', 'best-effort', 'restricted', 'single-numa-node'],
  topologyManagerScope: ['container', 'pod'],
} as const satisfies Partial<Record<keyof KubeletConfiguration, readonly string[]>>;

function validateWords(errors: ConfigurationErrors, kc: KubeletConfiguration, gates: FeatureGates): void {
  for (const [name, allowed] of Object.entries(allowedValues)) {
    errors.addUnlessOneOf(name, kc[name as keyof typeof allowedValues], allowed);
  }
  errors.addUnlessOneOf('authorization.mode', kc.authorization.mode, ['AlwaysAllow', 'Webhook']);
  errors.addUnlessOneOf('memorySwap.swapBehavior', kc.memorySwap.swapBehavior, ['', 'LimitedSwap', 'NoSwap']);
  if (kc.memoryReservationPolicy === 'TieredReservation' && !gates.MemoryQoS) {
    errors.add('memoryReservationPolicy', 'TieredReservation needs the feature gate MemoryQoS');
  }
}

function validateImages(errors: ConfigurationErrors, kc: KubeletConfiguration, gates: FeatureGates): void {
  const { imageGCLowThresholdPercent: low, imageGCHighThresholdPercent: high } = kc;
  if (low >= high) {
    errors.add('imageGCLowThresholdPercent', `${low} must be less than imageGCHighThresholdPercent ${high}`);
  }
  const { imageMinimumGCAge: minAge, imageMaximumGCAge: maxAge } = kc;
  if (maxAge > 0 && maxAge <= minAge) {
    errors.add(
      'imageMaximumGCAge',
      `${formatDurationMs(maxAge)} must be greater than imageMinimumGCAge ${formatDurationMs(minAge)}`,
    );
  }
  if (kc.serializeImagePulls && (kc.maxParallelImagePulls ?? 1) > 1) {
    errors.add('maxParallelImagePulls', 'cannot be larger than 1 unless serializeImagePulls is false');
  }
  validatePullVerification(errors, kc, gates);
}

function validatePullVerification(errors: ConfigurationErrors, kc: KubeletConfiguration, gates: FeatureGates): void {
  const { imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist } = kc;
  const listField = 'preloadedImagesVerificationAllowlist';
  if (!gates.KubeletEnsureSecretPulledImages) {
    const needed = 'needs the feature gate KubeletEnsureSecretPulledImages';
    if (policy !== '') errors.add('imagePullCredentialsVerificationPolicy', needed);
    if (allowlist.length > 0) errors.add(listField, needed);
    return;
  }
  errors.addUnlessOneOf('imagePullCredentialsVerificationPolicy', policy, verificationPolicies);
  if (allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages') {
    errors.add(listField, 'needs imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages');
  }
  for (const [index, entry] of allowlist.entries()) {
    if (isAllowlistEntry(entry)) continue;
    const example = parseImageName(entry)?.repository ?? 'registry.example/team/app';
    const message =
      `"${entry}" must be a complete image name without tag and digest, such as "${example}", ` +
      'or a prefix of names that ends in "/*"';
    errors.add(`${listField}[${index}]`, message);
  }
}

/** Periods that must be greater than zero. */
const positive = [
  'fileCheckFrequency',
  'httpCheckFrequency',
  'runtimeRequestTimeout',
  'syncFrequency',
] as const satisfies (keyof KubeletConfiguration)[];
const notNegative = ['imageMaximumGCAge', 'imageMinimumGCAge'] as const satisfies (keyof KubeletConfiguration)[];

const second = 1000;
const defaultQuotaPeriod = 100;

function validateDurations(errors: ConfigurationErrors, kc: KubeletConfiguration, gates: FeatureGates): void {
  for (const name of positive) if (kc[name] <= 0) errors.add(name, `${formatDurationMs(kc[name])} must be positive`);
  for (const name of notNegative)
    if (kc[name] < 0) errors.add(name, `${formatDurationMs(kc[name])} must not be negative`);
  if (kc.containerLogMonitorInterval < 3 * second) {
    errors.add(
      'containerLogMonitorInterval',
      `${formatDurationMs(kc.containerLogMonitorInterval)} must be at least 3s`,
    );
  }
  const { cpuCFSQuotaPeriod: period } = kc;
  if (!gates.CustomCPUCFSQuotaPeriod && period !== defaultQuotaPeriod) {
    errors.add('cpuCFSQuotaPeriod', `${formatDurationMs(period)} needs the feature gate CustomCPUCFSQuotaPeriod`);
  } else if (period < 1 || period > second) {
    errors.add('cpuCFSQuotaPeriod', `${formatDurationMs(period)} must be between 1ms and 1s, inclusive`);
  }
  const { maxContainerRestartPeriod: restart } = kc.crashLoopBackOff;
  const restartField = 'crashLoopBackOff.maxContainerRestartPeriod';
  if (restart === undefined) return;
  if (!gates.KubeletCrashLoopBackOffMax) errors.add(restartField, 'needs the feature gate KubeletCrashLoopBackOffMax');
  else if (Math.trunc(restart) < second || Math.trunc(restart) > 300 * second) {
    errors.add(restartField, `${formatDurationMs(restart)} must be between 1s and 300s, inclusive`);
  }
}

function validateShutdown(errors: ConfigurationErrors, kc: KubeletConfiguration, gates: FeatureGates): void {
  const { shutdownGracePeriod: all, shutdownGracePeriodCriticalPods: critical } = kc;
  for (const name of ['shutdownGracePeriod', 'shutdownGracePeriodCriticalPods'] as const) {
    if (kc[name] !== 0 && kc[name] < second)
      errors.add(name, `${formatDurationMs(kc[name])} must be zero or at least 1s`);
    if (kc[name] > 0 && !gates.GracefulNodeShutdown) errors.add(name, 'needs the feature gate GracefulNodeShutdown');
  }
  if (critical > all) {
    const message = `${formatDurationMs(critical)} must not be longer than shutdownGracePeriod ${formatDurationMs(all)}`;
    errors.add('shutdownGracePeriodCriticalPods', message);
  }
  if (kc.shutdownGracePeriodByPodPriority.length === 0) return;
  const field = 'shutdownGracePeriodByPodPriority';
  if (!gates.GracefulNodeShutdownBasedOnPodPriority) {
    errors.add(field, 'needs the feature gate GracefulNodeShutdownBasedOnPodPriority');
  } else if (all > 0 || critical > 0) errors.add(field, 'cannot be set together with shutdownGracePeriod');
}

/**
 * The path must be absolute, normal and ASCII, because metrics carry it as a label and pods of an earlier start are
 * found below it.
 */
function validatePodLogsDir(errors: ConfigurationErrors, path: string): void {
  if (!path.startsWith('/')) errors.add('podLogsDir', `"${path}" must be an absolute path`);
  if (/\/(\/|$|\.\.?(\/|$))/.test(path) && path !== '/') {
    errors.add('podLogsDir', `"${path}" must be a normal path`, 'Leave out "//", "/./", "/../" and a "/" at the end.');
  }
  if (/[^\p{ASCII}]/u.test(path)) errors.add('podLogsDir', `"${path}" must have ASCII characters only`);
}

/** A negative size turns the rotation off. kubelet: logs/container_log_manager.go parseMaxSize */
function validateContainerLogMaxSize(errors: ConfigurationErrors, size: string): void {
  if (quantityAsInt64(size) !== undefined) return;
  errors.add('containerLogMaxSize', `"${size}" must be a whole number of bytes such as "10Mi", below 100Ti`);
}

function validateLogging(errors: ConfigurationErrors, { logging }: KubeletConfiguration, gates: FeatureGates): void {
  errors.addUnlessOneOf('logging.format', logging.format, ['text', 'json']);
  if (logging.flushFrequency < 0) errors.add('logging.flushFrequency', 'must not be negative');
  if (logging.format !== 'text' && logging.vmodule.length > 0) {
    errors.add('logging.vmodule', 'is only for the format "text"');
  }
  for (const format of ['text', 'json'] as const) {
    const { splitStream, infoBufferSize } = logging.options[format];
    if ((splitStream || !/^0*$/.test(infoBufferSize)) && !gates.LoggingAlphaOptions) {
      errors.add(`logging.options.${format}`, 'needs the feature gate LoggingAlphaOptions');
    }
  }
}

function validateServer(errors: ConfigurationErrors, kc: KubeletConfiguration, gates: FeatureGates): void {
  if (kc.serverTLSBootstrap && !gates.RotateKubeletServerCertificate) {
    errors.add('serverTLSBootstrap', 'needs the feature gate RotateKubeletServerCertificate');
  }
  if (kc.enableSystemLogQuery && !kc.enableSystemLogHandler) {
    errors.add('enableSystemLogQuery', 'needs enableSystemLogHandler');
  }
  if (!['', previousKubernetesVersion].includes(kc.showHiddenMetricsForVersion)) {
    errors.add('showHiddenMetricsForVersion', `must be left out or be ${previousKubernetesVersion}`);
  }
}

/** Ids of a pod are a multiple of this. kubelet: validation_linux.go userNsUnitLength */
const idRange = 65_536;

function validateUserNamespaces(errors: ConfigurationErrors, { userNamespaces }: KubeletConfiguration): void {
  const { idsPerPod = idRange } = userNamespaces ?? {};
  if (idsPerPod >= idRange && idsPerPod % idRange === 0 && idsPerPod < 2 ** 32) return;
  errors.add('userNamespaces.idsPerPod', `${idsPerPod} must be a multiple of ${idRange}, at least that and below 2^32`);
}

function validateTaints(errors: ConfigurationErrors, { registerWithTaints }: KubeletConfiguration): void {
  for (const [index, { key, value, effect, timeAdded }] of registerWithTaints.entries()) {
    const field = `registerWithTaints[${index}]`;
    const problem = checkQualifiedName(key) ?? (value === '' ? undefined : checkLabelValue(value));
    if (problem !== undefined) errors.add(field, `invalid taint: ${problem}`);
    if (timeAdded !== undefined) errors.add(`${field}.timeAdded`, 'must not be set');
    errors.addUnlessOneOf(`${field}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute']);
  }
}

/** kubelet: eviction/helpers.go ParseThresholdConfig */
function validateEviction(errors: ConfigurationErrors, kc: KubeletConfiguration): void {
  for (const name of ['evictionHard', 'evictionSoft'] as const) {
    for (const [signal, value] of Object.entries(kc[name])) {
      const field = `${name}[${signal}]`;
      if (!isEvictionSignal(signal)) errors.add(field, `unknown eviction signal "${signal}"`, knownSignals);
      else if (parseThresholdValue(value) === undefined)
        errors.add(field, `"${value}" must be a positive quantity or 0% to 100%`);
    }
  }
  for (const [signal, value] of Object.entries(kc.evictionSoft)) {
    if (kc.evictionSoftGracePeriod[signal] !== undefined || parseThresholdValue(value) === 'never') continue;
    errors.add(`evictionSoft[${signal}]`, 'has no grace period', `Add ${signal} to evictionSoftGracePeriod.`);
  }
  for (const [signal, value] of Object.entries(kc.evictionSoftGracePeriod)) {
    const field = `evictionSoftGracePeriod[${signal}]`;
    if (!isEvictionSignal(signal)) errors.add(field, `unknown eviction signal "${signal}"`, knownSignals);
    else if (parseGracePeriodMs(value) === undefined)
      errors.add(field, `"${value}" must be a duration such as "1m30s"`);
  }
  for (const [signal, value] of Object.entries(kc.evictionMinimumReclaim)) {
    const field = `evictionMinimumReclaim[${signal}]`;
    if (!isEvictionSignal(signal)) errors.add(field, `unknown eviction signal "${signal}"`, knownSignals);
    else if (parseMinimumReclaim(value) === undefined)
      errors.add(field, `"${value}" must be a quantity or a percentage`);
  }
}
