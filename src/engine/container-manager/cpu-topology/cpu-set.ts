import { parseGoInt } from '../../../api/values/go-numbers.ts';

/** No kernel has a higher CPU number. The limit keeps a mistyped range from using all memory. */
const maxCPU = 65_535;

/** An immutable set of CPU numbers in ascending order. kubelet: k8s.io/utils/cpuset */
export class CPUSet implements Iterable<number> {
  static readonly empty = new CPUSet([]);

  private readonly numbers: ReadonlySet<number>;

  constructor(cpus: Iterable<number>) {
    this.numbers = new Set([...cpus].sort((a, b) => a - b));
  }

  /**
   * Parses a list such as `0-3,8`. Throws an `Error` with the kubelet's message if it is malformed. kubelet: cpuset.go
   * Parse
   */
  static parse(text: string): CPUSet {
    return text === '' ? CPUSet.empty : new CPUSet(text.split(',').flatMap(parseRange));
  }

  get size(): number {
    return this.numbers.size;
  }

  get isEmpty(): boolean {
    return this.size === 0;
  }

  [Symbol.iterator](): Iterator<number> {
    return this.numbers[Symbol.iterator]();
  }

  has(cpu: number): boolean {
    return this.numbers.has(cpu);
  }

  union(...others: readonly CPUSet[]): CPUSet {
    return new CPUSet([this, ...others].flatMap((cpus) => [...cpus]));
  }

  intersection(other: CPUSet): CPUSet {
    return this.filter((cpu) => other.has(cpu));
  }

  difference(other: CPUSet): CPUSet {
    return this.filter((cpu) => !other.has(cpu));
  }

  filter(isKept: (cpu: number) => boolean): CPUSet {
    return new CPUSet([...this].filter(isKept));
  }

  equals(other: CPUSet): boolean {
    return this.size === other.size && this.isSubsetOf(other);
  }

  isSubsetOf(other: CPUSet): boolean {
    return [...this].every((cpu) => other.has(cpu));
  }

  /** Formats a list such as `0-3,8` for the kernel and the runtime. kubelet: cpuset.go String */
  toString(): string {
    const ranges: { first: number; last: number }[] = [];
    for (const cpu of this) {
      const range = ranges.at(-1);
      if (range?.last === cpu - 1) range.last = cpu;
      else ranges.push({ first: cpu, last: cpu });
    }
    return ranges.map(({ first, last }) => (first === last ? String(first) : `${first}-${last}`)).join(',');
  }
}

function parseRange(text: string): number[] {
  const dash = text.indexOf('-');
  if (dash === -1) return [parseCPU(text)];
  const first = parseCPU(text.slice(0, dash));
  const last = parseCPU(text.slice(dash + 1));
  if (first > last) throw new Error(`invalid range "${text}" (${first} > ${last})`);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function parseCPU(text: string): number {
  const cpu = parseGoInt(text);
  if (cpu > maxCPU) throw new Error(`CPU ${cpu} is above ${maxCPU}`);
  return cpu;
}
