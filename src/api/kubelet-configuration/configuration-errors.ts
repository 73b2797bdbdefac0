/** A broken rule of the configuration, before its line is known. */
export interface ConfigurationError {
  /** Field path, such as `logging.format` or `evictionHard[memory.available]`. */
  field: string;
  message: string;
  hint?: string;
}

/** Collects validation errors in order. */
export class ConfigurationErrors {
  readonly list: ConfigurationError[] = [];

  add(field: string, message: string, hint?: string): void {
    this.list.push({ field, message, ...(hint === undefined ? {} : { hint }) });
  }

  /** Adds an error unless the value is allowed. */
  addUnlessOneOf(field: string, value: string, allowed: readonly string[]): void {
    if (!allowed.includes(value)) this.add(field, `"${value}" must be one of: ${allowed.map(quoted).join(', ')}`);
  }
}

const quoted = (text: string): string => `"${text}"`;
