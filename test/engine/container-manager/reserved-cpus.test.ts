import { describe, expect, test } from 'vitest';
import { parseCPUList, withReservedCPUs } from '../../../src/engine/container-manager/reserved-cpus.ts';

test.each([
  ['0', [0]],
  ['0-3,8', [0, 1, 2, 3, 8]],
  ['1,1,0-1\n', [1, 0]],
  ['3-0', []],
  ['', []],
])('the CPUs of "%s" are %j', (text, cpus) => {
  expect([...parseCPUList(text)]).toEqual(cpus);
});

test('a range is not counted further than kernels go', () => {
  expect(parseCPUList('0-99999999999').size).toBe(65_536);
});

describe('reservedSystemCPUs', () => {
  const reserved = { systemReserved: { cpu: '100m', memory: '1Gi' }, kubeReserved: { cpu: '200m', pid: '100' } };
  const online = new Set([0, 1, 2, 3]);

  test('takes the place of every amount of cpu that is reserved', () => {
    expect(withReservedCPUs(reserved, '0,2-3', online)).toEqual({
      systemReserved: { cpu: '3', memory: '1Gi' },
      kubeReserved: { pid: '100' },
    });
  });

  test('changes nothing when it is not set', () => {
    expect(withReservedCPUs(reserved, '', online)).toEqual(reserved);
  });

  test.each(['0-4', '7', '3-0'])('refuses %s, which the machine does not have', (cpus) => {
    expect(() => withReservedCPUs(reserved, cpus, online)).toThrow(
      `reservedSystemCPUs: ${cpus} contains CPUs that this machine does not have`,
    );
  });
});
