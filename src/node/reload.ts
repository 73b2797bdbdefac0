import { errorMessage, UserError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { SerialQueue } from '../flow/serial-queue.ts';
import { type NodeOptions, secretsOfURLs } from './options/node-options.ts';
import type { ServiceManager } from './service-manager.ts';
import { isDeepStrictEqual } from 'node:util';
import type { KubeletConfiguration } from '../api/kubelet-configuration/types.ts';

/**
 * Rereads files. Rejects if one is unusable. The returned function applies all of them, or throws and applies none.
 */
export type PrepareReload = () => Promise<() => void>;

interface Deps {
  /** The options of the running agent. A reload changes their headers and secrets. */
  options: NodeOptions;
  /** Rereads the configuration files, with the flags of the start. */
  read: () => Promise<NodeOptions>;
  setVerbosity: (level: number) => void;
  service: Pick<ServiceManager, 'reloading' | 'reloaded'>;
  logger: Logger;
}

/**
 * Rereads the configuration and the certificates, all or nothing: after a mistake in one file, the agent keeps
 * everything that it has, and reports the mistake.
 */
export class Reload {
  private readonly queue = new SerialQueue();
  private isWaiting = false;
  private current: NodeOptions['configuration'];
  private prepareAPI: PrepareReload | undefined;

  constructor(private readonly deps: Deps) {
    this.current = deps.options.configuration;
  }

  /** From now on, the certificates, tokens and rules of the API are reread too. */
  addAPI(prepare: PrepareReload): void {
    this.prepareAPI = prepare;
  }

  /** Called for SIGHUP. Reloads once for all waiting requests. Never rejects. */
  async request(): Promise<void> {
    if (this.isWaiting) return;
    this.isWaiting = true;
    await this.queue.run(() => {
      this.isWaiting = false;
      return this.reload();
    });
  }

  private async reload(): Promise<void> {
    const { service, logger } = this.deps;
    logger.info({}, 'Reloading the configuration and certificates');
    await service.reloading();
    try {
      const next = await this.deps.read();
      const takeAPI = await this.prepareAPI?.();
      // Runs first, because a damaged authority is noticed only here.
      takeAPI?.();
      this.apply(next);
      logger.info({}, 'Reloaded the configuration and certificates');
      await service.reloaded('Running');
    } catch (error) {
      const hint = error instanceof UserError ? error.hint : undefined;
      const err = errorMessage(error);
      logger.error({ err, ...(hint !== undefined && { hint }) }, 'The agent keeps its configuration and certificates');
      await service.reloaded(`Running with the configuration before the reload: ${err}`);
    }
  }

  private apply(next: NodeOptions): void {
    const { options, logger, setVerbosity } = this.deps;
    const { verbosity, hasOtherHeaders, needStart } = computeReload(this.current, next.configuration);
    for (const { message, origin, line, column, field, hint } of next.warnings) {
      logger.warn({ origin, line, column, field, hint }, message);
    }
    if (needStart.length > 0) {
      const hint = 'Restart the agent, for example with systemctl restart kubelet-ts. Pods do not restart.';
      logger.warn({ fields: needStart, hint }, 'Restart the agent to apply these fields');
    }
    if (verbosity !== undefined) setVerbosity(verbosity);
    if (hasOtherHeaders) {
      // Runs first, so that no log line shows a new secret.
      options.secrets.set('manifest URLs', secretsOfURLs(next));
      options.manifestURLHeaders.splice(0, Infinity, ...next.manifestURLHeaders);
    }
    const { logging, staticPodURLHeader } = next.configuration;
    this.current = { ...this.current, logging: { ...this.current.logging, verbosity: logging.verbosity } };
    this.current = { ...this.current, staticPodURLHeader };
  }
}

/** The effects of a new configuration on a running agent. */
interface ReloadPlan {
  /** Undefined if the log level stays the same. */
  verbosity: number | undefined;
  /** True if the headers for manifest URLs changed. */
  hasOtherHeaders: boolean;
  /** Changed fields that are only read when the agent starts. */
  needStart: (keyof KubeletConfiguration)[];
}

/** Compares two configurations. The kubelet reads its configuration only at its start. */
export function computeReload(current: KubeletConfiguration, next: KubeletConfiguration): ReloadPlan {
  const changed = (Object.keys(next) as (keyof KubeletConfiguration)[]).filter(
    (field) => !isDeepStrictEqual(current[field], next[field]),
  );
  const { verbosity: before, ...logging } = current.logging;
  const { verbosity, ...nextLogging } = next.logging;
  const isVerbosityAlone = isDeepStrictEqual(logging, nextLogging);
  return {
    verbosity: verbosity === before ? undefined : verbosity,
    hasOtherHeaders: changed.includes('staticPodURLHeader'),
    needStart: changed.filter((field) => field !== 'staticPodURLHeader' && !(field === 'logging' && isVerbosityAlone)),
  };
}
