import type { Clock } from '../../clock.ts';
import type { Kubelet } from '../../engine/kubelet.ts';
import { reasons } from '../../engine/view/reasons.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { programVersion } from '../../process/program-version.ts';
import { clearUpgradeState, readUpgradeState, type UpgradeState } from './program-files.ts';

interface Deps {
  clock: Clock;
  logger: Logger;
  /** Defaults to the version of this program. */
  version?: string;
}

/** How long the engine must have worked, in milliseconds: many a fault shows only when it syncs the pods. */
const trialMs = 10_000;

/**
 * The part of an agent in the upgrade of its program. It reads the mark once, before its engine starts: a mark that an
 * upgrade writes later is for another program.
 */
export class UpgradeTrial {
  private constructor(
    private readonly program: string,
    private readonly state: UpgradeState | undefined,
    private readonly deps: Deps,
  ) {}

  /** Never rejects: an agent runs even if it cannot read the mark. */
  static async open(program: string, deps: Deps): Promise<UpgradeTrial> {
    const state = await readUpgradeState(program).catch((error: unknown) => {
      deps.logger.warn({ err: errorMessage(error) }, 'Reading the mark of an upgrade failed');
      return undefined;
    });
    return new UpgradeTrial(program, state, deps);
  }

  /**
   * Reports an upgrade that the guard has undone. While one is pending, removes its mark when the engine and the
   * runtime have worked for ten seconds. Resolves then, or when the signal is aborted.
   */
  async run(
    kubelet: Pick<Kubelet, 'recordNodeWarning' | 'unhealthyBecause' | 'stuckBecause'>,
    signal: AbortSignal,
  ): Promise<void> {
    const { state } = this;
    if (state?.kind === 'restored')
      kubelet.recordNodeWarning({ reason: reasons.upgradeUndone, message: undoneText(state) });
    if (state?.kind !== 'pending') return;
    const isHealthy = (): boolean => (kubelet.unhealthyBecause() ?? kubelet.stuckBecause()) === undefined;
    do await this.deps.clock.sleep(trialMs, { signal });
    while (!isHealthy());
    await this.end(state);
  }

  private async end({ from, to }: UpgradeState): Promise<void> {
    const { logger, version = programVersion } = this.deps;
    try {
      await clearUpgradeState(this.program);
      // A power cut can come between the mark and the new program.
      const isStillOld = version === from && from !== to;
      if (isStillOld) logger.warn({ from, to, hint: 'Run kubelet-ts upgrade again' }, 'An upgrade was interrupted');
      else logger.info({ from, to }, 'The upgrade is complete');
    } catch (error) {
      const hint = `Remove ${this.program}.pending-*, or the previous program is restored after the third start`;
      logger.error({ err: errorMessage(error), hint }, 'Ending the trial of the upgrade failed');
    }
  }
}

/** What happened to an upgrade that the guard has undone, in one sentence. */
export const undoneText = ({ from, to }: UpgradeState): string =>
  `The upgrade from ${from} to ${to} was undone, because it did not become healthy in three starts`;
