import { nearestName } from '../text/nearest-name.ts';
import { templateHint } from '../text/template-hint.ts';
import { nearestValidName, type NameCheck } from './names.ts';

/** Kinds of broken rules, in the terms of the API server. */
export type FieldErrorType =
  | 'Duplicate value'
  | 'Forbidden'
  | 'Invalid value'
  | 'Not found'
  | 'Required value'
  | 'Too long'
  | 'Too many'
  | 'Unsupported value';

/** One broken rule of the Pod API. */
export interface FieldError {
  /** Field path as the API server writes it. Some of its paths lack an index. */
  field: string;
  type: FieldErrorType;
  message: string;
  /** How to fix it, if known. */
  hint?: string;
}

/** Collects validation errors in order. */
export class FieldErrors {
  readonly list: FieldError[] = [];

  duplicate(field: string, value: string): void {
    this.add(field, 'Duplicate value', quoted(value));
  }

  forbidden(field: string, message: string, hint?: string): void {
    this.add(field, 'Forbidden', message, hint);
  }

  invalid(field: string, value: unknown, message: string, hint?: string): void {
    const template = typeof value === 'string' ? templateHint(value) : undefined;
    this.add(field, 'Invalid value', `${quoted(value)}: ${message}`, template ?? hint);
  }

  /** Adds an invalid value if there is a message, such as the ones that name checks return. */
  invalidIf(field: string, value: unknown, message: string | undefined): void {
    if (message !== undefined) this.invalid(field, value, message);
  }

  /** Adds an invalid value unless the name passes the check. The hint suggests a valid name. */
  invalidNameUnless(field: string, name: string, check: NameCheck): void {
    const message = check(name);
    if (message !== undefined) this.invalid(field, name, message, didYouMean(nearestValidName(name, check)));
  }

  /** `known` are the names that the hint may suggest. */
  notFound(field: string, value: string, known: Iterable<string> = [], hint?: string): void {
    this.add(field, 'Not found', quoted(value), templateHint(value) ?? didYouMean(nearestName(value, known)) ?? hint);
  }

  required(field: string, message = 'must be set', hint?: string): void {
    this.add(field, 'Required value', message, hint);
  }

  tooLong(field: string, message: string): void {
    this.add(field, 'Too long', message);
  }

  tooMany(field: string, count: number, max: number): void {
    this.add(field, 'Too many', `${count}: must have at most ${max} items`);
  }

  /** Adds an unsupported value unless the value is allowed. */
  unsupportedUnless(field: string, value: string, allowed: readonly string[]): void {
    if (allowed.includes(value)) return;
    const message = `${quoted(value)}: supported values: ${allowed.map(quoted).join(', ')}`;
    this.add(field, 'Unsupported value', message, templateHint(value) ?? didYouMean(nearestName(value, allowed)));
  }

  /** As `unsupportedUnless`, but an empty value counts as missing. */
  requiredOneOf(field: string, value: string | undefined, allowed: readonly string[]): void {
    if (value === undefined || value === '') this.required(field);
    else this.unsupportedUnless(field, value, allowed);
  }

  addAll(errors: readonly FieldError[]): void {
    this.list.push(...errors);
  }

  private add(field: string, type: FieldErrorType, message: string, hint?: string): void {
    this.list.push({ field, type, message, ...(hint !== undefined && { hint }) });
  }
}

function didYouMean(name: string | undefined): string | undefined {
  return name === undefined ? undefined : `Did you mean "${name}"?`;
}

function quoted(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? 'null' : text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
