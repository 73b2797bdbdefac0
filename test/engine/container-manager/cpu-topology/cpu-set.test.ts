import { expect, test } from 'vitest';
import { CPUSet } from '../../../../src/engine/container-manager/cpu-topology/cpu-set.ts';

test('a list of CPUs that no kernel has is an error, and takes no memory', () => {
  expect(() => CPUSet.parse('0-99999999999')).toThrow('CPU 99999999999 is above 65535');
});

test('a set is ascending, in any order of making it', () => {
  const cpus = new CPUSet([9, 8, 10, 0]).union(CPUSet.parse('3'));
  expect({ list: [...cpus], text: cpus.toString() }).toEqual({ list: [0, 3, 8, 9, 10], text: '0,3,8-10' });
});
