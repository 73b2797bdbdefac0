import type { InterfaceStats, NetworkStats } from './summary.ts';

/** Prefixes of interfaces that belong to containers or lead nowhere. kubelet: cadvisor isIgnoredDevice */
const ignored = ['lo', 'veth', 'docker', 'nerdctl'];
/** kubelet: kubelet/network DefaultInterfaceName */
const defaultInterface = 'eth0';

/** All counters of an interface that metrics show. */
export interface InterfaceCounters extends Required<InterfaceStats> {
  rxPackets: number;
  rxDropped: number;
  txPackets: number;
  txDropped: number;
}

/** Parses the interfaces in a file `/proc/<pid>/net/dev`. kubelet: stats/helper.go cadvisorInfoToNetworkStats */
export function networkStats(text: string, time: string): NetworkStats {
  const interfaces = interfaceCounters(text).map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({
    name,
    rxBytes,
    rxErrors,
    txBytes,
    txErrors,
  }));
  const chosen = interfaces.find(({ name }) => name === defaultInterface);
  return { time, name: '', ...chosen, interfaces };
}

/** Parses the same interfaces with all counters. */
export const interfaceCounters = (text: string): InterfaceCounters[] => text.split('\n').flatMap(interfaceOf);

function interfaceOf(line: string): InterfaceCounters[] {
  const colon = line.indexOf(':');
  const name = line.slice(0, colon).trim();
  if (colon === -1 || ignored.some((prefix) => name.startsWith(prefix))) return [];
  const counters = numbersAfter(line, colon);
  if (counters.length < 16) return [];
  const [rxBytes = 0, rxPackets = 0, rxErrors = 0, rxDropped = 0] = counters;
  const [txBytes = 0, txPackets = 0, txErrors = 0, txDropped = 0] = counters.slice(8);
  return [{ name, rxBytes, rxPackets, rxErrors, rxDropped, txBytes, txPackets, txErrors, txDropped }];
}

/** Parses digit by digit, because number strings for hundreds of pods would be much garbage. */
function numbersAfter(line: string, position: number): number[] {
  const numbers: number[] = [];
  let number: number | undefined;
  for (let at = position + 1; at <= line.length; at++) {
    const digit = line.charCodeAt(at) - 48;
    if (digit >= 0 && digit <= 9) number = (number ?? 0) * 10 + digit;
    else if (number !== undefined) {
      numbers.push(number);
      number = undefined;
    }
  }
  return numbers;
}
