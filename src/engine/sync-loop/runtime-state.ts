import type { Clock } from '../../clock.ts';
import { silenceText } from '../../cri/errors.ts';
import { podNetworkCommands } from '../../cri/pod-network-commands.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { AsyncQueue } from '../../flow/async-queue.ts';
import { untilTick } from '../../flow/ticks.ts';
import type { Emit } from '../view/event-bus.ts';

/** kubelet: kubelet.go updateRuntimeUp is called every 5 s */
const checkPeriodMs = 5000;
/** Check period of a ready runtime whose events are followed, because waking up uses more CPU than a check. */
const followedPeriodMs = 10_000;
/** Shorter while the runtime is not ready, because everything waits for it. The kubelet does not shorten the period. */
const retryPeriodMs = 500;
/** kubelet: kubelet.go maxWaitForContainerRuntime */
const maxSilenceMs = 30_000;
/** A check that takes longer than this is reported. The kubelet reports it after its deadline of two minutes. */
const slowAnswerMs = 10_000;
/** Milliseconds between checks of the disk. Each one makes the kernel list all mounts. */
const diskPeriodMs = 60_000;

interface Deps {
  runtime: RuntimeService;
  clock: Clock;
  emit: Emit;
  /** True while the runtime streams its events. If the stream is lost, `checkNow` is called. */
  isFollowed: () => boolean;
  /** Undefined if healthy. */
  plegUnhealthyBecause: () => string | undefined;
  /** Returns where the disk of the root-dir is mounted, if it is read-only. */
  findReadOnlyDisk: () => Promise<string | undefined>;
}

/** State of the runtime and its network. kubelet: runtime.go, kubelet.go updateRuntimeUp */
export class RuntimeState {
  private readonly wakeUps = new AsyncQueue<'due'>();
  private lastReadyAtMonotonic: number | undefined;
  private statusError: string | undefined;
  /** True while a check waits for a late answer. */
  private isLate = false;
  /** Set while the pod network is not ready; only host-network pods start then. */
  networkError: string | undefined = 'network state unknown';
  /** Commands that set up the runtime's network. Empty while the network is ready. */
  networkCommands: readonly string[] = [];
  /** Features of the runtime's default handler. */
  supportsUserNamespaces = false;
  supportsRecursiveReadOnly = false;
  /** Feature of the runtime as a whole. Undefined until it has answered. */
  supportsSupplementalGroupsPolicy: boolean | undefined;
  /** Where the disk of the root-dir is mounted, if it became read-only: no container can start or stop. */
  readOnlyDisk: string | undefined;
  private nextDiskCheckMonotonic = -Infinity;
  name = '';
  version = '';

  constructor(private readonly deps: Deps) {}

  /** True for containerd 1.6, which starts containers without the edits of their CDI devices. */
  get ignoresCDIDevices(): boolean {
    return this.name === 'containerd' && /^v?1\.[0-6]\./.test(this.version);
  }

  /** True for runtimes that mount a whole image in place of the part that a container asks for. */
  get ignoresImageSubPaths(): boolean {
    if (this.name === 'cri-o') return /^v?1\.(?:[0-2]?\d|3[0-2])\./.test(this.version);
    return this.name === 'containerd' && /^v?(?:1|2\.[01])\./.test(this.version);
  }

  /** Checks the runtime periodically until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.checkDisk();
      await this.check(signal);
      const cancel = this.deps.clock.after(this.untilCheckMs(), () => {
        this.checkNow();
      });
      try {
        await this.wakeUps.pull(signal);
      } finally {
        cancel();
      }
    }
  }

  /** Starts the next check now, or after the running one. */
  checkNow(): void {
    if (this.wakeUps.length === 0) this.wakeUps.push('due');
  }

  /** Explains why pods cannot be synced. Returns undefined if they can. kubelet: runtime.go runtimeErrors */
  error(): string | undefined {
    if (this.lastReadyAtMonotonic === undefined) {
      return this.statusError ?? 'container runtime status check may not have completed yet';
    }
    if (this.deps.clock.monotonic() - this.lastReadyAtMonotonic > maxSilenceMs) {
      return `container runtime is down: ${this.statusError ?? 'it does not answer'}`;
    }
    if (this.statusError === undefined && this.readOnlyDisk !== undefined) return readOnlyText(this.readOnlyDisk);
    const pleg = this.deps.plegUnhealthyBecause();
    return pleg === undefined ? this.statusError : `PLEG is not healthy: ${pleg}`;
  }

  /** Explains why requests to the runtime wait: `error`, or an overdue check. Returns undefined if none waits. */
  waitsBecause(): string | undefined {
    return this.error() ?? (this.isLate ? lateMessage : undefined);
  }

  private untilCheckMs(): number {
    if (this.statusError !== undefined) return retryPeriodMs;
    const { clock, isFollowed } = this.deps;
    return untilTick(clock, this.networkError === undefined && isFollowed() ? followedPeriodMs : checkPeriodMs);
  }

  private async checkDisk(): Promise<void> {
    const { clock, emit, findReadOnlyDisk } = this.deps;
    if (clock.monotonic() < this.nextDiskCheckMonotonic) return;
    this.nextDiskCheckMonotonic = clock.monotonic() + diskPeriodMs;
    const before = this.readOnlyDisk;
    this.readOnlyDisk = await findReadOnlyDisk();
    if (this.readOnlyDisk === before) return;
    if (this.readOnlyDisk !== undefined) emit({ type: 'RuntimeNotReady', message: readOnlyText(this.readOnlyDisk) });
    else if (this.statusError === undefined) emit({ type: 'RuntimeReady', name: this.name, version: this.version });
  }

  private async check(signal: AbortSignal): Promise<void> {
    const { runtime, clock, emit } = this.deps;
    const before = this.statusError;
    const cancelLate = clock.after(slowAnswerMs, () => {
      this.isLate = true;
      if (before === undefined) emit({ type: 'RuntimeNotReady', message: lateMessage });
    });
    try {
      if (this.name === '') {
        const { runtimeName, runtimeVersion } = await runtime.version({ version: '0.1.0' }, { signal });
        this.name = runtimeName;
        this.version = runtimeVersion;
      }
      const hadNoNetwork = this.networkError !== undefined;
      const {
        status,
        runtimeHandlers,
        features: own,
        info,
      } = await runtime.status({ verbose: hadNoNetwork }, { signal });
      const wasLate = this.isLate;
      const features = runtimeHandlers.find(({ name }) => name === '')?.features;
      this.supportsUserNamespaces = features?.userNamespaces === true;
      this.supportsRecursiveReadOnly = features?.recursiveReadOnlyMounts === true;
      this.supportsSupplementalGroupsPolicy = own?.supplementalGroupsPolicy === true;
      const conditions = new Map(status?.conditions.map((condition) => [condition.type, condition]));
      const networkError = notReady('container runtime network not ready', conditions.get('NetworkReady'));
      this.networkError = networkError && `${networkError}${loadFailure(info)}`;
      this.networkCommands = this.networkError !== undefined ? podNetworkCommands(info) : [];
      this.statusError = notReady('container runtime not ready', conditions.get('RuntimeReady'));
      const firstTime = this.lastReadyAtMonotonic === undefined;
      if (this.statusError === undefined) this.lastReadyAtMonotonic = clock.monotonic();
      if (this.statusError === undefined && (firstTime || before !== undefined || wasLate)) {
        emit({ type: 'RuntimeReady', name: this.name, version: this.version });
      }
    } catch (error) {
      if (signal.aborted) return;
      this.statusError = silenceText(error);
      // Another runtime may serve the socket next.
      this.name = '';
    } finally {
      cancelLate();
      this.isLate = false;
    }
    if (this.statusError !== undefined && this.statusError !== before) {
      emit({ type: 'RuntimeNotReady', message: this.statusError });
    }
  }
}

const readOnlyText = (mount: string): string => `the disk at ${mount} is read-only, so no container can start or stop`;

/** What containerd says of a CNI configuration that it could not load, in its verbose status. */
function loadFailure({ lastCNILoadStatus = '' }: Readonly<Record<string, string>>): string {
  return lastCNILoadStatus.includes('failed to load CNI config') ? `: ${lastCNILoadStatus}` : '';
}

const lateMessage = 'the container runtime does not answer';

function notReady(
  what: string,
  condition: { status: boolean; reason: string; message: string } | undefined,
): string | undefined {
  if (condition?.status === true) return undefined;
  const { reason = 'unknown', message = '' } = condition ?? {};
  return `${what}: ${reason}${message === '' ? '' : `: ${message}`}`;
}
