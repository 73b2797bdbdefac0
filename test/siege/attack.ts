import type { Agent } from '../e2e/agent.ts';
import type { NetworkNamespace } from '../e2e/network-namespace.ts';
import type { SeededRandom } from '../builders/seeded-random.ts';
import type { PeerOptions } from './peer.ts';

/** One kind of attack on an agent. All of them go on at the same time. */
export interface Attack {
  /** One word or two with a dash: for the table, `--only` and `--without`. */
  readonly name: string;
  /** Makes what has to be there before the agent starts; resolves to flags of `run`. */
  readonly prepare?: (besieged: Besieged) => Promise<readonly string[]>;
  /** Goes on until the signal of the siege is aborted, then takes back what no agent cleans up. */
  readonly carryOn: (siege: Siege) => Promise<void>;
}

/** The agent that is attacked. */
export interface Besieged {
  readonly agent: Agent;
  /** The agent, its pods and its peers are in it. */
  readonly namespace: NetworkNamespace;
  /** A folder for the attacks' own files; everyone may enter it. It goes with the siege. */
  readonly folder: string;
}

/** What an attack has to work with. */
export interface Siege extends Besieged {
  readonly random: SeededRandom;
  /** Aborted when the siege is over. */
  readonly signal: AbortSignal;
  /** Counts one blow, for the table. */
  readonly hit: () => void;
  /** Runs a script of `peers/` in the network namespace until the siege is over. */
  readonly peer: (script: string, options?: PeerOptions) => Promise<void>;
}

/** Where the agent and the peers listen, in the network namespace. */
export const ports = {
  healthz: 10_248,
  api: 10_250,
  manifestServer: 18_080,
  probeTarget: 18_081,
  otherProtocol: 18_082,
  silent: 18_083,
} as const;
