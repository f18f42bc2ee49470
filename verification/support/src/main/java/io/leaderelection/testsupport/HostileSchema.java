/*
 * Copyright 2026-present the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *      https://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package io.leaderelection.testsupport;

/**
 * A schema that shadows every operator, function, type and relation of PostgreSQL for
 * roles whose search path has it first. Whatever is used of it writes {@link #TRACE} to
 * the log of the server, also if the error that follows is caught. Casts are found by the
 * types, and not by the search path.
 */
public final class HostileSchema {

	/**
	 * The search path with which the schema has an effect.
	 */
	public static final String SEARCH_PATH = "hostile, pg_catalog, public";

	/**
	 * Part of each line in the log of the server.
	 */
	public static final String TRACE = "shadowed by the search path";

	/**
	 * Creates the schema, as a superuser. Functions with arguments that PL/pgSQL does not
	 * take, for instance of {@code concat}, have the code of another function, which
	 * fails.
	 */
	public static final String SCRIPT = """
			CREATE SCHEMA hostile;
			GRANT USAGE ON SCHEMA hostile TO PUBLIC;
			CREATE FUNCTION hostile.shadowed(what pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS $$
			BEGIN
			  RAISE WARNING '%% %1$s', what;
			  RAISE feature_not_supported USING MESSAGE = pg_catalog.concat(what, ' %1$s');
			END $$;
			DO $create$
			DECLARE
			  object pg_catalog.record;
			BEGIN
			  SET LOCAL search_path = pg_catalog;
			  FOR object IN SELECT oid::regprocedure AS name, format('CREATE FUNCTION hostile.%%I(%%s) RETURNS %%s%%s', proname,
			        (SELECT string_agg(CASE WHEN provariadic <> 0 AND i = pronargs THEN 'VARIADIC ' ELSE '' END
			          || format_type(type, NULL), ',' ORDER BY i)
			          FROM unnest(proargtypes::oid[]) WITH ORDINALITY AS arguments (type, i)),
			        CASE WHEN proretset THEN 'SETOF ' ELSE '' END, format_type(prorettype, NULL)) AS head
			      FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
			        AND prorettype <> ALL (ARRAY['internal', 'cstring', 'trigger', 'event_trigger']::regtype[])
			        AND NOT proargtypes::oid[] && ARRAY['internal'::regtype, 'cstring'::regtype]::oid[] LOOP
			    BEGIN
			      EXECUTE object.head || format(' LANGUAGE plpgsql AS $$BEGIN PERFORM hostile.shadowed(%%L); END$$', object.name);
			    EXCEPTION WHEN OTHERS THEN
			      EXECUTE object.head || ' LANGUAGE internal AS ''trigger_in''';
			    END;
			  END LOOP;
			  FOR object IN SELECT format('CREATE OPERATOR hostile.%%s (%%s RIGHTARG = %%s, FUNCTION = hostile.%%I)', oprname,
			        CASE WHEN oprleft <> 0 THEN format('LEFTARG = %%s,', format_type(oprleft, NULL)) ELSE '' END,
			        format_type(oprright, NULL), proname) AS text
			      FROM pg_operator AS o JOIN pg_proc AS p ON p.oid = oprcode WHERE oprnamespace = 'pg_catalog'::regnamespace LOOP
			    EXECUTE object.text;
			  END LOOP;
			  FOR object IN SELECT format('CREATE DOMAIN hostile.%%I AS %%s CHECK (hostile.shadowed(%%L))', typname,
			        format_type(oid, NULL), 'type ' || typname) AS text
			      FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm')
			        AND typcategory <> 'A' LOOP
			    EXECUTE object.text;
			  END LOOP;
			  FOR object IN SELECT relname FROM pg_class
			      WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v') LOOP
			    EXECUTE format('CREATE VIEW hostile.%%I AS SELECT hostile.shadowed(%%L)', object.relname,
			      'relation ' || object.relname);
			  END LOOP;
			END $create$;
			GRANT SELECT ON ALL TABLES IN SCHEMA hostile TO PUBLIC;
			"""
		.formatted(TRACE);

	private HostileSchema() {
	}

}
