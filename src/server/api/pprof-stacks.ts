import { Function as PprofFunction, Line, Location, Profile, Sample, StringTable, ValueType } from 'pprof-format';

/** A function as V8 names it. */
interface CallFrame {
  functionName: string;
  url: string;
  lineNumber: number;
}

/** Samples of stacks in the format of pprof. */
export class PprofStacks {
  private readonly strings = new StringTable();
  private readonly locations = new Map<string, Location>();
  private readonly functions: PprofFunction[] = [];
  private readonly samples: Sample[] = [];
  private readonly types: ValueType[];

  /** Types and units of the values of a sample. */
  constructor(
    types: readonly (readonly [type: string, unit: string])[],
    private readonly durationNanos: number,
  ) {
    this.types = types.map(
      ([type, unit]) => new ValueType({ type: this.strings.dedup(type), unit: this.strings.dedup(unit) }),
    );
  }

  /** The innermost frame comes first. */
  add(frames: readonly CallFrame[], value: readonly number[]): void {
    this.samples.push(new Sample({ locationId: frames.map((frame) => this.locationOf(frame)), value: [...value] }));
  }

  encode(): Uint8Array {
    return new Profile({
      sampleType: this.types,
      sample: this.samples,
      location: [...this.locations.values()],
      function: this.functions,
      stringTable: this.strings,
      timeNanos: BigInt(Date.now()) * 1_000_000n,
      durationNanos: BigInt(Math.round(this.durationNanos)),
    }).encode();
  }

  private locationOf({ functionName, url, lineNumber }: CallFrame): number {
    const key = `${functionName} ${url} ${lineNumber}`;
    const known = this.locations.get(key);
    if (known !== undefined) return Number(known.id);
    const id = this.locations.size + 1;
    const name = this.strings.dedup(functionName === '' ? '(anonymous)' : functionName);
    const filename = this.strings.dedup(url);
    this.functions.push(new PprofFunction({ id, name, systemName: name, filename, startLine: lineNumber + 1 }));
    this.locations.set(key, new Location({ id, line: [new Line({ functionId: id, line: lineNumber + 1 })] }));
    return id;
  }
}
