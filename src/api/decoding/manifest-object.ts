import type { ManifestNode } from '../text/manifest-node.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import { notShown } from '../text/problem-list.ts';
import type { FieldError } from '../values/field-errors.ts';
import { decodeObject, maxFindings } from './decode-object.ts';
import type { ManifestDocument } from './manifest-document.ts';
import type { ObjectSchema } from './object-schema.ts';
import { manifestSchema } from './manifest-schema.ts';

/** One object of a manifest: a whole document, or a list item in it. */
export interface ManifestObject {
  document: ManifestDocument;
  node: ManifestNode;
  /** Field path of the object in its document, such as `items[2]`; empty for the whole document. */
  path: string;
}

/** A problem with a field of an object, before its line is known. */
export type FieldProblem = Pick<ManifestProblem, 'message' | 'hint' | 'severity' | 'notShown'> & { field: string };

/** Adds the line and column of the field to a problem. */
export function problemOf({ document, path }: ManifestObject, { field, ...problem }: FieldProblem): ManifestProblem {
  const whole = fieldIn(path, field);
  return {
    origin: document.origin,
    ...document.positionOf(whole),
    ...(whole === '' ? {} : { field: whole }),
    ...problem,
  };
}

/** Converts a broken rule of the API into a problem. */
export function brokenRule({ field, type, message, hint }: FieldError): FieldProblem {
  return { field, message: `${type}: ${message}`, ...(hint !== undefined && { hint }), severity: 'error' };
}

interface DecodedObject {
  /** Undefined if the object has errors. */
  value: Record<string, unknown> | undefined;
  /** The decodable part of an object with errors. Undefined if there are no errors or too many. */
  partial: PartialObject | undefined;
  problems: ManifestProblem[];
}

/** An object without its fields that have errors. */
export interface PartialObject {
  value: Record<string, unknown>;
  /** Paths of those fields in the object. */
  brokenFields: string[];
}

/** Decodes an object as a type of the schema. */
export function decodeManifestObject(
  typeName: string,
  { document, node, path }: ManifestObject,
  schema: ObjectSchema = manifestSchema,
): DecodedObject {
  const { value, findings } = decodeObject(schema, typeName, node);
  const problems = findings.map(({ start, field, ...finding }) => ({
    origin: document.origin,
    ...document.positionAt(start),
    ...(field === '' ? {} : { field: fieldIn(path, field) }),
    ...finding,
  }));
  const brokenFields = findings.filter(({ severity }) => severity === 'error').map(({ field }) => field);
  if (brokenFields.length === 0) return { value, partial: undefined, problems };
  const partial = brokenFields.length < maxFindings ? { value, brokenFields } : undefined;
  return { value: undefined, partial, problems };
}

/** The reader's warnings about a document. */
export function readerWarnings(document: ManifestDocument): ManifestProblem[] {
  return document.warnings.map(({ start, message, hint }) => ({
    origin: document.origin,
    ...document.positionAt(start),
    message,
    hint,
    severity: 'warning',
  }));
}

function fieldIn(path: string, field: string): string {
  if (path === '' || field === '') return path + field;
  return field.startsWith('[') ? path + field : `${path}.${field}`;
}

/** Maximum number of reported problems of one object, because hints and positions for thousands take long. */
const maxProblems = 50;

/** The problems of the first entries of `wrong`, and one problem that counts the rest. */
export function firstProblems<T>(wrong: readonly T[], toProblem: (wrong: T) => FieldProblem): FieldProblem[] {
  const shown = wrong.slice(0, maxProblems).map(toProblem);
  const rest = wrong.length - shown.length;
  if (rest > 0) shown.push({ field: '', ...notShown(rest), severity: 'warning' });
  return shown;
}
