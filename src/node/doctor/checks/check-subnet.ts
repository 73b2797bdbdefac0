import type { Facts } from './facts.ts';
import { onFact, type Verdict, warning } from './finding.ts';

export function checkSubnet({ collision }: Facts): Verdict[] {
  return onFact(collision, ({ sentence, cure = newSubnet }) =>
    sentence === undefined ? [] : [warning(sentence, cure)],
  );
}

const newSubnet = 'kubelet-ts down --all, and start kubelet-ts again, perhaps with --pod-cidr SUBNET';
