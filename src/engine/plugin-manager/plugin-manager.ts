import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import { abortWith } from '../../flow/abort-with.ts';
import { AsyncQueue } from '../../flow/async-queue.ts';
import { type BackOffEntry, type BackOffLimits, nextBackOff } from '../../flow/back-off.ts';
import type { Faults } from '../../flow/faults.ts';
import { Semaphore } from '../../flow/semaphore.ts';
import type { Logger } from '../../logger.ts';
import { makeFolder } from '../../files/make-folder.ts';
import type { Connected, PluginRegistration } from '../../plugins/types.ts';
import type { Plugin, PluginHandler, PluginHandlers } from './plugin-handler.ts';
import { PluginSockets } from './plugin-sockets.ts';
import { registerPlugin } from './register-plugin.ts';

interface Deps {
  /** `<root-dir>/plugins_registry` */
  folder: string;
  connect: (socketPath: string) => Promise<Connected<PluginRegistration>>;
  handlers: PluginHandlers;
  clock: Clock;
  faults: Pick<Faults, 'watch'>;
  logger: Logger;
}

/** A socket whose plugin is registered or is being registered. */
interface Known {
  identity: string;
  /** Aborts the attempts to register its plugin. */
  removed: AbortController;
  /** Set before the handler registers the plugin. */
  added: { plugin: Plugin; handler: PluginHandler } | undefined;
}

/** kubelet: goroutinemap/exponentialbackoff */
const retryLimits: BackOffLimits = { initialMs: 500, maxMs: 122_000, resetAfterMs: Infinity };
/**
 * How many sockets are called at a time: for the first time, and again after a failure. Each call needs a descriptor
 * and 40 KB, which V8 collects late. The limits are separate, so that new sockets do not wait for failed ones.
 */
const maxFirstAttempts = 24;
const maxLaterAttempts = 6;
/** The kubelet checks for work at this interval. kubelet: pluginmanager/plugin_manager.go loopSleepDuration */
const checkPeriodMs = 1000;

/**
 * Registers the plugins whose sockets are in a folder, and deregisters those whose sockets are removed. kubelet:
 * pluginmanager/
 *
 * INVARIANTS: each path has one operation at a time. A plugin is deregistered before the next one at its path is
 * registered.
 */
export class PluginManager {
  private readonly known = new Map<string, Known>();
  /** The last operation of each path. */
  private readonly operations = new Map<string, Promise<void>>();
  private readonly firstAttempts = new Semaphore(maxFirstAttempts);
  private readonly laterAttempts = new Semaphore(maxLaterAttempts);

  constructor(private readonly deps: Deps) {}

  /** Runs until the signal is aborted. Registered plugins stay registered with their handlers. */
  async run(signal: AbortSignal): Promise<void> {
    await makeFolder(this.deps.folder, 0o750);
    const changes = new AsyncQueue<'change'>();
    const onChange = (): void => {
      if (changes.length === 0) changes.push('change');
    };
    const sockets = new PluginSockets({ ...this.deps, onChange });
    try {
      onChange();
      for (;;) {
        await changes.pull(signal);
        this.reconcile(await sockets.list(), signal);
      }
    } finally {
      sockets.close();
    }
  }

  /** kubelet: pluginmanager/reconciler/reconciler.go reconcile */
  private reconcile(sockets: ReadonlyMap<string, string>, stopped: AbortSignal): void {
    for (const [path, known] of this.known) if (sockets.get(path) !== known.identity) this.remove(path, known);
    for (const [path, identity] of sockets) if (!this.known.has(path)) this.add(path, identity, stopped);
  }

  private add(path: string, identity: string, stopped: AbortSignal): void {
    const known: Known = { identity, removed: new AbortController(), added: undefined };
    this.known.set(path, known);
    const release = abortWith(known.removed, stopped);
    this.afterOthers(path, () => this.register(path, known, known.removed.signal).finally(release));
  }

  private remove(path: string, known: Known): void {
    this.known.delete(path);
    known.removed.abort(new Error('the socket of the plugin was removed'));
    this.afterOthers(path, () => {
      if (known.added === undefined) return;
      const { plugin, handler } = known.added;
      this.deps.logger.info({ path, plugin: plugin.name }, 'The socket of a plugin was removed or replaced');
      handler.deRegister(plugin);
    });
  }

  private afterOthers(path: string, operation: () => Promise<void> | void): void {
    const before = this.operations.get(path) ?? Promise.resolve();
    const work = before.then(operation).finally(() => {
      if (this.operations.get(path) === settled) this.operations.delete(path);
    });
    this.deps.faults.watch('plugin manager', work);
    const settled = work.catch(() => undefined);
    this.operations.set(path, settled);
  }

  /** Retries until the plugin has received its answer. */
  private async register(path: string, known: Known, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.deps;
    let backOff: BackOffEntry | undefined;
    for (;;) {
      try {
        const attempts = backOff === undefined ? this.firstAttempts : this.laterAttempts;
        await attempts.run(() => this.registerOnce(path, known, signal), signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const now = clock.monotonic();
        backOff = nextBackOff(backOff, now, now, retryLimits);
        logger.warn({ path, err: errorMessage(error), retryInMs: backOff.backOffMs }, 'Registering a plugin failed');
      }
      await clock.sleep(untilCheck(backOff.backOffMs), { signal }).catch(() => undefined);
    }
  }

  private async registerOnce(path: string, known: Known, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { logger } = this.deps;
    const onAdded = (added: Known['added']): void => {
      known.added = added;
    };
    const refusal = await registerPlugin({ ...this.deps, onAdded }, path, signal);
    const facts = { path, plugin: known.added?.plugin.name };
    if (refusal === undefined) logger.info(facts, 'Registered a plugin');
    else
      logger.warn(
        { ...facts, err: refusal },
        'A plugin was not registered; the agent tries again when its socket is replaced',
      );
  }
}

/** Returns when the kubelet would first check after a back-off. */
const untilCheck = (backOffMs: number): number => (Math.floor(backOffMs / checkPeriodMs) + 1) * checkPeriodMs;
