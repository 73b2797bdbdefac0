import { errorMessage } from '../../../src/errors.ts';
import { CPUSet } from '../../../src/engine/container-manager/cpu-topology/cpu-set.ts';
import { tableAdapter } from '../table-adapter.ts';

type Input =
  | { parse: string }
  | { format: number[] }
  | { op: 'union' | 'intersection' | 'difference' | 'equals' | 'isSubsetOf'; a: string; b: string };

export const cpuSetTable = tableAdapter<Input>('cpuset', (input) => {
  if ('parse' in input) return parsed(input.parse);
  if ('format' in input) return { string: new CPUSet(input.format).toString() };
  const result = CPUSet.parse(input.a)[input.op](CPUSet.parse(input.b));
  return result instanceof CPUSet ? { string: result.toString() } : { result };
});

function parsed(text: string): object {
  try {
    const cpus = CPUSet.parse(text);
    return { cpus: [...cpus], size: cpus.size, string: cpus.toString() };
  } catch (error) {
    return { error: errorMessage(error) };
  }
}
