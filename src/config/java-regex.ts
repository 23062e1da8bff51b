/** A pattern that JavaScript cannot express as Java means it. */
export class JavaRegexError extends Error {}

const POSIX: Readonly<Record<string, string>> = {
  Lower: 'a-z', Upper: 'A-Z', Alpha: 'A-Za-z', Digit: '0-9', Alnum: 'A-Za-z0-9', Punct: '!-\\/:-@\\[-`{-~', Space: '\\s', Blank: ' \\t', XDigit: '0-9A-Fa-f', ASCII: '\\x00-\\x7F',
};

/**
 * Translates a Java regular expression (java.util.regex.Pattern) to JavaScript. Quoting (`\Q…\E`), ASCII classes, `\A`, `\z`
 * and a leading `(?i)` are translated. What JavaScript lacks (possessive quantifiers, atomic groups, class intersection) is
 * an error rather than another meaning.
 */
export function translateJavaRegex(pattern: string): { source: string; ignoreCase: boolean } {
  let ignoreCase = false;
  let source = pattern;
  const flags = /^\(\?([a-zA-Z]+)\)/.exec(source);
  if (flags !== null) {
    if (/[^iu]/.test(flags[1])) throw new JavaRegexError(`the flags (?${flags[1]}) are not available`);
    ignoreCase = flags[1].includes('i');
    source = source.slice(flags[0].length);
  }
  return { source: translateBody(source), ignoreCase };
}

function translateBody(source: string): string {
  let out = '';
  let inClass = false;
  let afterQuantifier = false;
  for (let i = 0; i < source.length; ) {
    const c = source[i];
    if (c === '\\') {
      const [text, length] = translateEscape(source, i, inClass);
      out += text;
      i += length;
      afterQuantifier = false;
      continue;
    }
    if (inClass) {
      if (c === '[') throw new JavaRegexError('a class inside a class is not available; write \\[ for the character');
      if (c === '&' && source[i + 1] === '&') throw new JavaRegexError('class intersection (&&) is not available');
      if (c === ']') inClass = false;
    } else if (c === '[') {
      inClass = true;
      const opening = source.startsWith('[^]', i) ? '[^\\]' : source.startsWith('[]', i) ? '[\\]' : undefined;
      if (opening !== undefined) {
        // Java takes a ] right after the opening as a character.
        out += opening;
        i += opening.length - 1;
        continue;
      }
    } else if (c === '(' && source[i + 1] === '?') {
      const group = /^\(\?(?:[:=!]|<[=!]|<[A-Za-z][A-Za-z0-9]*>)/.exec(source.slice(i));
      if (group === null) throw new JavaRegexError(`the group ${source.slice(i, i + 4)}… is not available`);
      out += group[0];
      i += group[0].length;
      afterQuantifier = false;
      continue;
    } else if (c === '+' && afterQuantifier) {
      throw new JavaRegexError('possessive quantifiers (*+, ++, ?+) are not available');
    }
    afterQuantifier = !inClass && (c === '*' || c === '+' || c === '?' || (c === '}' && /\{[0-9]+(,[0-9]*)?$/.test(out)));
    out += c;
    i++;
  }
  return out;
}

function translateEscape(source: string, at: number, inClass: boolean): [text: string, length: number] {
  const next = source[at + 1];
  if (next === undefined) throw new JavaRegexError('it ends with a backslash');
  if (next === 'Q') {
    const end = source.indexOf('\\E', at + 2);
    const literal = source.slice(at + 2, end === -1 ? undefined : end);
    return [literal.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), (end === -1 ? source.length : end + 2) - at];
  }
  if (next === 'p' || next === 'P') {
    const name = /^\{([A-Za-z]+)\}/.exec(source.slice(at + 2));
    const members = name === null ? undefined : POSIX[name[1]];
    if (members === undefined || (next === 'P' && inClass)) throw new JavaRegexError(`the class \\${next}${name?.[0] ?? ''} is not available`);
    return [inClass ? members : `[${next === 'P' ? '^' : ''}${members}]`, 2 + name![0].length];
  }
  if (next === 'A' && !inClass) return ['^', 2];
  if ((next === 'z' || next === 'Z') && !inClass) return ['$', 2];
  if (next === 'h') return [inClass ? ' \\t' : '[ \\t]', 2];
  if (next === 'k' && source[at + 2] === '<') return ['\\k', 2];
  if (/[A-Za-z]/.test(next) && !'dDwWsSbBtnrfvxuc'.includes(next)) throw new JavaRegexError(`the escape \\${next} is not available`);
  return [source.slice(at, at + 2), 2];
}

/** A whole-match, case-insensitive pattern, as Debezium's include and exclude lists use them. */
export function wholeMatch(pattern: string): RegExp {
  return new RegExp(`^(?:${translateJavaRegex(pattern).source})$`, 'i');
}

/** A pattern for replacing every match, as String.replaceAll does in Java. */
export function replacePattern(pattern: string): RegExp {
  const { source, ignoreCase } = translateJavaRegex(pattern);
  return new RegExp(source, ignoreCase ? 'gi' : 'g');
}

/** Translates a Java replacement (`$1`, `${name}`, `\$`) for `pattern` to JavaScript's form (`$1`, `$<name>`, `$$`). */
export function translateJavaReplacement(replacement: string, pattern: RegExp): string {
  const groups = new RegExp(`${pattern.source}|`, pattern.flags.replace('g', '')).exec('')!;
  let out = '';
  for (let i = 0; i < replacement.length; i++) {
    const c = replacement[i];
    if (c === '\\') {
      const literal = replacement[++i];
      if (literal === undefined) throw new JavaRegexError('the replacement ends with a backslash');
      out += literal === '$' ? '$$' : literal;
    } else if (c === '$') {
      const reference = /^\{([A-Za-z][A-Za-z0-9]*)\}|^[0-9]/.exec(replacement.slice(i + 1));
      if (reference === null) throw new JavaRegexError('a $ in the replacement needs a group number or {name}; write \\$ for the character');
      i += reference[0].length;
      if (reference[1] !== undefined) {
        if (!(reference[1] in (groups.groups ?? {}))) throw new JavaRegexError(`the replacement names the group ${reference[1]}, which the pattern has not`);
        out += `$<${reference[1]}>`;
        continue;
      }
      let group = reference[0];
      if (Number(group) >= groups.length) throw new JavaRegexError(`the replacement names group ${group}, which the pattern has not`);
      // As Java does: further digits belong to the number as long as there is such a group.
      while (/[0-9]/.test(replacement[i + 1] ?? '') && Number(group + replacement[i + 1]) < groups.length) group += replacement[++i];
      // Two digits, so that a digit that follows is not taken into the number.
      out += Number(group) === 0 ? '$&' : `$${group.padStart(2, '0')}`;
    } else {
      out += c;
    }
  }
  return out;
}
