import { programFiles } from '../../upgrade/program-files.ts';
import { undoneText } from '../../upgrade/upgrade-trial.ts';
import type { Facts } from './facts.ts';
import { onFact, type Verdict, warning } from './finding.ts';

/** Reports nothing unless an upgrade is pending or was undone. */
export function checkUpgrade({ upgrade }: Facts): Verdict[] {
  return onFact(upgrade, ({ program, state }) => {
    if (state === undefined) return [];
    if (state.kind === 'restored') {
      return [warning(undoneText(state), `kubelet-ts upgrade FILE, or: rm ${programFiles(program).restored}`)];
    }
    const evidence = `the upgrade from ${state.from} to ${state.to} is not healthy yet; its third failed start undoes it`;
    return [warning(evidence, 'See what it waits for: systemctl status kubelet-ts')];
  });
}
